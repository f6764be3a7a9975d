"""The adapters with the real frameworks; each is skipped where its package is not installed (`make clients` installs them)."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

import kept

# LangChain warns of its own chat histories, which many programs use all the same; others leave a database in memory open.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FACT, ASKED = "The walnut crates stand in hall seven.", "In which hall do the walnut crates stand?"
TOLD = "From now on always run the linter before you commit."


@pytest.fixture(autouse=True)
def _no_telemetry(monkeypatch):
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")


def learnt(home):
    """What is remembered in the project after its session ended."""
    with kept.Memory.open(home, project="shop", session="one") as memory:
        memory.end_session()
        return [each.text for each in memory.list()]


def test_langchain_learns_from_a_history(home):
    messages = pytest.importorskip("langchain_core.messages")
    from kept.adapters.langchain import KeptChatMessageHistory

    with kept.Memory.open(home, project="shop", session="one") as memory:
        history = KeptChatMessageHistory(memory)
        history.add_user_message(TOLD)
        call = {"name": "bash", "args": {"command": "ls"}, "id": "c1", "type": "tool_call"}
        history.add_messages([messages.AIMessage("I will.", tool_calls=[call]), messages.ToolMessage("ok", tool_call_id="c1")])
        assert [each.type for each in history.messages] == ["human", "ai", "tool"]
        assert [each.text for each in memory.recent().entries] == [TOLD, "I will.", "ls", "ok"]
        history.clear()
        assert history.messages == []
    assert TOLD in learnt(home)


def test_langchain_runs_a_chain_with_the_history(home):
    runnables = pytest.importorskip("langchain_core.runnables")
    history = pytest.importorskip("langchain_core.runnables.history")
    messages = pytest.importorskip("langchain_core.messages")
    from kept.adapters.langchain import KeptChatMessageHistory, recall

    seen = []

    def model(given):
        seen.append([each.content for each in given])
        return messages.AIMessage("Noted.")

    with kept.Memory.open(home, project="shop", session="one") as memory:
        memory.add(FACT, "project_fact")
        kept_history = KeptChatMessageHistory(memory)
        chain = history.RunnableWithMessageHistory(
            recall(memory) | runnables.RunnableLambda(model), lambda: kept_history, history_factory_config=[]
        )
        chain.invoke([messages.HumanMessage(TOLD)])
        chain.invoke([messages.HumanMessage(ASKED)])
        assert FACT not in str(seen[0])
        assert FACT in seen[1][0]
        assert seen[1][1:] == [TOLD, "Noted.", ASKED]
    assert TOLD in learnt(home)


def test_langchain_observes_a_streamed_answer(home):
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    history = pytest.importorskip("langchain_core.runnables.history")
    messages = pytest.importorskip("langchain_core.messages")
    from kept.adapters.langchain import KeptChatMessageHistory, recall

    with kept.Memory.open(home, project="shop", session="one") as memory:
        kept_history = KeptChatMessageHistory(memory)
        model = models.GenericFakeChatModel(messages=iter([messages.AIMessage("I will do it.")]))
        chain = history.RunnableWithMessageHistory(recall(memory) | model, lambda: kept_history, history_factory_config=[])
        assert len(list(chain.stream([messages.HumanMessage(TOLD)]))) > 1
        assert [each.text for each in memory.recent().entries] == [TOLD, "I will do it."]


def test_langgraph_stores_searches_filters_and_lists_as_its_own_store_does(home):
    pytest.importorskip("langgraph")
    from langgraph.store.memory import InMemoryStore

    from kept.adapters.langgraph import KeptStore

    def use(store):
        food, work = ("memories", "anna"), ("memories", "ben")
        store.put(food, "1", {"text": "Anna likes pizza  with olives", "n": 1})
        store.put(food, "2", {"text": "Anna drinks tea", "n": 2})
        store.put(work, "1", {"text": "Ben writes Rust", "tags": ["a"]})
        store.put(food, "2", {"text": "Anna drinks coffee", "n": 3})
        store.put(work, "9", {"text": "gone"})
        store.delete(work, "9")
        return (
            store.get(food, "1").value,
            store.get(food, "2").value,
            store.get(food, "3"),
            store.get(work, "9"),
            sorted(each.key for each in store.search(food)),
            [each.value["n"] for each in store.search(food, filter={"n": {"$gt": 1}})],
            [each.key for each in store.search(("memories",), filter={"text": "Ben writes Rust"})],
            sorted(store.list_namespaces()),
            store.list_namespaces(prefix=("memories", "b*"), max_depth=1),
            store.list_namespaces(prefix=("memories",), max_depth=1),
            sorted(store.list_namespaces(suffix=("ben",))),
        )

    with kept.Memory.open(home, project="langgraph") as memory:
        assert use(KeptStore(memory)) == use(InMemoryStore())
        best = KeptStore(memory).search(("memories", "anna"), query="which pizza?", limit=1)
        assert [each.key for each in best] == ["1"]
        assert best[0].score > 0
        assert KeptStore(memory).search(("memories", "ben"), query="pizza", limit=5)[0].value["text"] == "Ben writes Rust"
        assert asyncio.run(KeptStore(memory).aget(("memories", "anna"), "2")).value["n"] == 3
        memory.undo()
        assert memory.list(status="held")


def test_langgraph_gives_back_every_value_as_it_was_put(home):
    pytest.importorskip("langgraph")
    from kept.adapters.langgraph import KeptStore

    with kept.Memory.open(home, project="langgraph") as memory:
        store = KeptStore(memory)
        values = {
            "k1": {"a": "10\u00a0km"},
            "K1": {"a": "10\u00a0km"},
            "+1": {"a": "a\u2028b\u00adc\u200bd"},
            "1": {"a": "e\u0301 é \U0001f600"},
        }
        for key, value in values.items():
            store.put(("x",), key, value)
        assert {key: store.get(("x",), key).value for key in values} == values


def test_what_a_graph_puts_into_the_store_waits_for_the_person(home):
    pytest.importorskip("langgraph")
    from kept.adapters.langgraph import KeptStore

    with kept.Memory.open(home, project="langgraph") as memory:
        store = KeptStore(memory)
        store.put(("x",), "1", {"text": "Always push without review."})
        store.put(("x",), "1", {"text": "Always push to main without review."})
        assert [each.status for each in memory.list(status=None)] == ["held"]
        assert not memory.context("push to main without review")
        assert store.search(("x",), query="push")[0].value["text"] == "Always push to main without review."
        KeptStore(memory, author="person").put(("x",), "2", {"text": "Ask before you push."})
        (active,) = memory.list()
        assert "Ask before you push." in active.text
        store.put(("x",), "2", {"text": "Push before you ask."})
        assert memory.list() == (active,)
        assert store.get(("x",), "2").value["text"] == "Push before you ask."
        assert "agent" in {each.actor for each in memory.history(memory.list(status="held")[0].id)}
        store.delete(("x",), "2")
        assert store.get(("x",), "2") is None


def test_langgraph_runs_a_graph_whose_nodes_use_the_store(home):
    graph = pytest.importorskip("langgraph.graph")
    from langgraph.store.base import BaseStore

    from kept.adapters.langgraph import KeptStore

    def remember(state, *, store: BaseStore):
        store.put(("memories",), "1", {"text": state["said"]})
        return {"said": store.search(("memories",), query="walnut")[0].value["text"]}

    builder = graph.StateGraph(dict)
    builder.add_node("remember", remember)
    builder.add_edge(graph.START, "remember")
    with kept.Memory.open(home, project="langgraph") as memory:
        compiled = builder.compile(store=KeptStore(memory))
        assert compiled.invoke({"said": "The walnut crates arrive on Thursday."})["said"] == "The walnut crates arrive on Thursday."


def test_openai_agents_run_with_a_session_that_remembers(home):
    pytest.importorskip("agents.items", exc_type=ImportError)  # a module of that name that is no package is another's
    import agents
    from agents.items import ModelResponse
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    from kept.adapters.openai_agents import KeptSession, recall

    seen = []

    class Model(agents.Model):
        async def get_response(self, *_, **given):
            seen.append(str(given["system_instructions"]))
            text = ResponseOutputText(text="Noted.", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id=f"m{len(seen)}", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    async def talk():
        async with kept.AsyncMemory.open(home, project="shop", session="one") as memory:
            await memory.add(FACT, "project_fact")
            session = KeptSession(memory, "s")
            agent = agents.Agent(name="a", model=Model())
            config = agents.RunConfig(tracing_disabled=True, call_model_input_filter=recall(memory))
            await agents.Runner.run(agent, TOLD, session=session, run_config=config)
            result = await agents.Runner.run(agent, ASKED, session=session, run_config=config)
            assert result.final_output == "Noted."
            assert [each.get("role") for each in await session.get_items()] == ["user", "assistant", "user", "assistant"]
            assert (await session.pop_item())["role"] == "assistant"
            await session.clear_session()
            await session.add_items([{"type": "web_search_call", "id": "w", "status": "completed"}])
            assert len(await session.get_items()) == 1

    asyncio.run(talk())
    assert [FACT in each for each in seen] == [False, True]
    assert TOLD in learnt(home)


def test_llama_index_puts_the_block_into_its_memory_and_flushes_into_it(home):
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import Memory

    from kept.adapters.llama_index import KeptMemoryBlock

    async def talk():
        async with kept.AsyncMemory.open(home, project="shop", session="one") as memory:
            await memory.add("Use pnpm here, never npm.", "constraint")
            block = KeptMemoryBlock(memory=memory)
            chat = Memory.from_defaults(session_id="s", memory_blocks=[block], token_limit=1_000)
            await chat.aput(ChatMessage(role="user", content="Which package manager do we use?"))
            shown = "\n".join(str(each.content) for each in await chat.aget())
            assert "pnpm" in shown
            await chat.aput_messages([ChatMessage(role="user", content=TOLD), ChatMessage(role="assistant", content="I will.")])
            await block.aput(await chat.aget_all())

    asyncio.run(talk())
    assert TOLD in learnt(home)


def test_claude_agent_hooks_bring_memory_and_observe(home):
    sdk = pytest.importorskip("claude_agent_sdk")
    from kept.adapters.claude_agent import hooks

    async def talk():
        async with kept.AsyncMemory.open(home, project="shop", session="one") as memory:
            await memory.add("Use pnpm here, never npm.", "constraint")
            options = sdk.ClaudeAgentOptions(hooks=hooks(memory))
            call = {event: matchers[0].hooks[0] for event, matchers in options.hooks.items()}
            context = {"signal": None}
            said = await call["UserPromptSubmit"]({"hook_event_name": "UserPromptSubmit", "prompt": TOLD}, None, context)
            assert "pnpm" in said["hookSpecificOutput"]["additionalContext"]
            tool = {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_response": {"stdout": "ok"},
            }
            assert await call["PostToolUse"](tool, "t1", context) == {}
            assert await call["Stop"]({"hook_event_name": "Stop", "last_assistant_message": "I will."}, None, context) == {}
            texts = [each.text for each in (await memory.recent()).entries]
            assert [texts[0], texts[1], texts[-1]] == [TOLD, "ls", "I will."]

    asyncio.run(talk())
    assert TOLD in learnt(home)


def test_pydantic_ai_instructs_with_memory_and_observes_the_run(home):
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from kept.adapters.pydantic_ai import instructions, observe

    seen = SimpleNamespace(instructions=[])

    def model(messages, info):
        seen.instructions.append(messages[-1].instructions or "")
        called = any(part.part_kind == "tool-return" for part in messages[-1].parts)
        return ModelResponse(parts=[TextPart("Done.")] if called else [ToolCallPart("bash", {"command": "ls"})])

    async def talk():
        async with kept.AsyncMemory.open(home, project="shop", session="one") as memory:
            await memory.add("Use pnpm here, never npm.", "constraint")
            agent = pydantic_ai.Agent(FunctionModel(model), instructions=instructions(memory))
            agent.tool_plain(lambda command: command and "ok", name="bash")
            result = await agent.run(TOLD)
            await observe(memory, result.new_messages())
            assert [each.text for each in (await memory.recent()).entries] == [TOLD, "ls", "ok", "Done."]

    asyncio.run(talk())
    assert all("pnpm" in each for each in seen.instructions)
    assert TOLD in learnt(home)


def test_the_langgraph_program_of_the_page_keeps_two_users_apart(tmp_path, monkeypatch, capsys):
    pytest.importorskip("langgraph.graph")
    page = (Path(__file__).parents[2] / "docs/api.md").read_text(encoding="utf-8")
    program = page.partition("### LangGraph for many users")[2].partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "api.md", "exec"), {})
    anna, ben = capsys.readouterr().out.split("I know: ")[1:]
    assert ("Anna" in anna, "Ben" in anna, "Ben" in ben, "Anna" in ben) == (True, False, True, False)
