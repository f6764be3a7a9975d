"""``kept.Memory`` as a program uses it: every verb, users and projects apart, threads, tasks, types."""

import asyncio
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import FrozenInstanceError
from io import StringIO
from pathlib import Path

import pytest

import kept
from kept.core.errors import MissingError, UsageError
from kept.core.fence import estimate_token_count
from kept.local.files import hold_lock

PNPM, STAGING = "Use pnpm in this project, never npm.", "The staging server is db2.internal."
TOLD = "From now on always run the linter before you commit."


def held(memory, *, query="pnpm staging server linter walnut"):
    """Everything of a memory that a program can see, as one text."""
    return " ".join(
        [
            *(each.text for each in memory.list(status=None)),
            *(each.text for each in memory.search(query, said=True, limit=50)),
            memory.context(query, budget=5_000).text,
            *(each.text for each in memory.recent().entries),
        ]
    )


def test_every_verb_does_what_it_says(home):
    with kept.Memory.open(home, project="shop") as memory:
        made = memory.add(PNPM, "constraint")
        assert (made.text, made.status, made.scope, made.category) == (PNPM, "active", "project", "constraint")
        assert memory.get(made.id) == memory.get(made.id[:4]) == made
        (found,) = memory.search("which package manager, pnpm?")
        assert (found.id, found.kind) == (made.id, "memory")
        assert found.score == pytest.approx(found.score)
        assert found.parts.words == 1
        assert found.parts.rest == pytest.approx(0, abs=1e-9)
        changed = memory.update(made.id, "Use yarn in this project.")
        assert changed.text == "Use yarn in this project."
        assert memory.undo() == (made.id,)
        assert memory.get(made.id).text == PNPM
        assert memory.delete(made.id).status == "retired"
        assert memory.list() == ()
        assert [each.id for each in memory.list(status="retired")] == [made.id]
        memory.undo()
        assert [each.id for each in memory.list(category="constraint")] == [made.id]
        kinds = [(each.kind, each.undone) for each in memory.history(made.id)]
        assert kinds == [("add", False), ("revise", True), ("retire", True)]
        gone = memory.forget(made.id)
        assert (gone.ids, gone.remains, gone.problems) == ((made.id,), (), ())
        with pytest.raises(MissingError):
            memory.get(made.id)
        with pytest.raises(UsageError):
            memory.undo()
        with pytest.raises(FrozenInstanceError):
            made.text = "x"


def test_what_a_session_taught_has_the_words_it_rests_on_and_is_undone_as_a_whole(home):
    with kept.Memory.open(home, project="shop", session="one") as memory:
        memory.observe([{"role": "user", "content": TOLD}, {"role": "assistant", "content": "I will."}])
        (item,) = memory.end_session().new
        assert [(each.text, each.author) for each in item.evidence] == [(TOLD, "human")]
        assert item.last_seen == item.evidence[0].at
        memory.undo()
        assert memory.list() == ()


def test_what_is_added_in_an_agents_shell_waits_and_what_holds_stays_as_it_is(home, monkeypatch):
    with kept.Memory.open(home, project="shop") as memory:
        active = memory.add(STAGING, "project_fact")
        monkeypatch.setenv("CLAUDECODE", "1")
        assert memory.add(PNPM, "constraint").status == "held"
        with pytest.raises(UsageError):
            memory.update(active.id, "The staging server is db3.internal.")
        with pytest.raises(UsageError, match="only the person may"):
            memory.forget(active.id)
        with pytest.raises(UsageError, match="only the person may"):
            memory.undo()
        assert memory.context(PNPM).text.count("pnpm") == 0
        memory.observe([{"role": "user", "content": TOLD}, {"role": "assistant", "content": "I will."}])
        assert memory.end_session().new == ()
    monkeypatch.delenv("CLAUDECODE")
    with kept.Memory.open(home, project="shop") as memory:
        assert [item.text for item in memory.list()] == [STAGING]


def test_what_was_said_and_became_no_memory_is_found_when_asked_for(home):
    with kept.Memory.open(home, project="shop") as memory:
        memory.observe("The walnut crates arrive on Thursday at the northern gate.")
        memory.end_session()
        assert memory.search("walnut crates") == ()
        (found,) = memory.search("walnut crates", said=True)
        assert (found.kind, found.category, found.evidence[0].text) == ("turn", "human", found.text)


def test_context_stays_within_its_budget_and_says_what_is_in_it(home):
    with kept.Memory.open(home, project="shop") as memory:
        for number in range(12):
            memory.add(f"Service {number} must listen on port {8000 + number} behind the gateway.", "constraint")
        for budget in (1, 30, 60, 120, 400):
            context = memory.context("which port does service 3 use?", budget=budget)
            assert estimate_token_count(context.text) <= budget
            assert all(line.text in context.text for line in context.lines)
            assert bool(context) == bool(context.text) == bool(context.lines)
            assert str(context) == context.text
        for wrong in (0, 2.5, "300"):
            with pytest.raises(UsageError):
                memory.context("x", budget=wrong)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ({"user": "anna"}, {"user": "ben"}),
        ({"user": "anna"}, {"user": "Anna"}),
        ({"user": "anna"}, {}),
        ({}, {"user": "anna"}),
        ({"user": "../anna"}, {"user": "anna"}),
        ({"user": "a/b"}, {"user": "a-b"}),
        ({"user": "anna", "project": "shop"}, {"user": "ben", "project": "shop"}),
        ({"user": "anna", "project": "shop"}, {"user": "anna", "project": "shop2"}),
        ({"project": "shop"}, {"project": "Shop"}),
        ({"project": "shop"}, {}),
    ],
)
def test_users_and_projects_see_nothing_of_each_other(home, mine, theirs):
    same = {"session": "same"}
    with kept.Memory.open(home, **mine, **same) as memory, kept.Memory.open(home, **theirs, **same) as other:
        made = memory.add(PNPM, "constraint")
        memory.add(STAGING, "project_fact")
        memory.observe(
            [{"role": "user", "content": f"In this project, {TOLD}"}, {"role": "user", "content": "Walnut crates arrive."}]
        )
        memory.end_session()
        shared = "project" in mine and mine.get("user") == theirs.get("user")
        if not (shared or "user" in mine or "user" in theirs):
            assert made.scope == "user"
        elif "user" in mine or "user" in theirs or shared:
            assert held(other) == ""
            assert other.end_session().new == ()
            for call in (other.get, other.delete, other.forget, other.history, lambda number: other.update(number, "x y z")):
                with pytest.raises(MissingError):
                    call(made.id)
                with pytest.raises(MissingError):
                    call(made.id[:4])
            with pytest.raises(UsageError):
                other.undo()
        assert PNPM in held(memory)


MISSING = "Traceback (most recent call last):\n  File \"gen.py\", line 1\nModuleNotFoundError: No module named 'yaml'"


def ran(number: str, command: str, output: str, *, failed: bool = False):
    use = {"type": "tool_use", "id": number, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": number, "content": output, "is_error": failed}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def test_a_fix_that_commands_proved_is_learnt_and_told_in_its_own_project_alone(home):
    with kept.Memory.open(home, project="shop") as memory:
        memory.observe("make the files")
        memory.observe(ran("1", "python tools/gen.py", MISSING, failed=True))
        memory.observe(
            [*ran("2", "pip install pyyaml", "Successfully installed"), *ran("3", "python tools/gen.py", "wrote 3 files")]
        )
        (item,) = memory.end_session().new
        assert (item.category, item.status) == ("known_fix", "active")
        assert [each.layer for each in memory.context(MISSING).lines] == ["fixes"]
    with kept.Memory.open(home, project="other") as memory:
        assert not memory.context(MISSING)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"user": ""}, {"user": " "}, {"user": None}, {"user": 7}),
        *({"project": ""}, {"project": " "}, {"project": 7}, {"session": ""}, {"session": "../x"}, {"session": 7}),
    ],
)
def test_an_empty_or_impossible_name_opens_nobodys_memory(home, wrong):
    with pytest.raises(UsageError):
        kept.Memory.open(home, **wrong)


def test_a_file_and_an_address_are_refused(home):
    (home / "notes.txt").write_text("mine", encoding="utf-8")
    for path in (home / "notes.txt", "postgresql://localhost/memory", "", 7):
        with pytest.raises(UsageError):
            kept.Memory.open(path)


def test_a_closed_memory_says_so_and_may_be_closed_again(home):
    memory = kept.Memory.open(home)
    memory.close()
    memory.close()
    with pytest.raises(UsageError, match="closed"):
        memory.search("x")


def test_threads_share_one_memory_and_others_work_on_the_same_store_beside_it(home):
    def work(number: int) -> None:
        user, project = ("anna", "ben")[number % 2], ("shop", "farm")[number // 2 % 2]
        with kept.Memory.open(home, user=user, project=project) as own:
            own.add(f"{user} keeps item {number} of {project} in the blue drawer.", "project_fact")
            own.observe(f"In this project, always label crate {number} of {user} and {project} in red.")
            own.end_session()
        shared.add(f"Shared fact number {number} is about the harbour.", "project_fact")
        shared.search("harbour")
        shared.context("harbour")

    with kept.Memory.open(home, project="shared") as shared, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
        assert len(shared.list()) == 8
    for user in ("anna", "ben"):
        for project in ("shop", "farm"):
            with kept.Memory.open(home, user=user, project=project) as own:
                texts = [each.text for each in own.list(status=None)]
                assert len([each for each in texts if "drawer" in each]) == 2
                assert all(f"{user} " in each and project in each for each in texts)


def test_the_same_sentence_from_many_threads_is_remembered_once(home):
    def add(_: int) -> bool:
        try:
            with kept.Memory.open(home, project="shop") as own:
                own.add(PNPM, "constraint")
        except UsageError:
            return False
        return True

    kept.Memory.open(home, project="shop").close()
    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(add, range(6))) == 1


def test_the_asynchronous_memory_does_the_same_for_many_tasks(home):
    async def session() -> list[str]:
        async with kept.AsyncMemory.open(home, user="anna", project="shop") as memory:
            made = await asyncio.gather(
                *(memory.add(f"Fact number {number} is about the harbour.", "project_fact") for number in range(8))
            )
            found, context, _ = await asyncio.gather(
                memory.search("harbour"), memory.context("What is fact number 3 about the harbour?"), memory.observe(TOLD)
            )
            assert len(found) == 8
            assert context.lines
            assert [each.text for each in (await memory.end_session()).new] == [TOLD]
            await memory.delete(made[0].id)
            await memory.undo()
            assert (await memory.forget(made[0].id)).ids == (made[0].id,)
            return [each.text for each in await memory.list()]

    assert len(asyncio.run(session())) == 8

    async def wrong() -> None:
        async with kept.AsyncMemory.open(home, user=""):
            pass

    with pytest.raises(UsageError):
        asyncio.run(wrong())


def test_both_memories_have_the_same_public_methods():
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")} - {"call"}

    assert public(kept.AsyncMemory) == public(kept.Memory)


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("plain", ["plain"]),
        ({"choices": [{"message": {"role": "assistant", "content": "a reply"}}]}, ["a reply"]),
        (
            {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a reply"}]}]},
            ["a reply"],
        ),
        ({"type": "human", "content": "from LangChain"}, ["from LangChain"]),
        ({"type": "AIMessageChunk", "content": "streamed", "tool_calls": []}, ["streamed"]),
        ({"role": None, "type": "human", "content": "from LangChain"}, ["from LangChain"]),
        ({"output": [{"type": "web_search_call", "id": "w"}, {"type": "message", "role": "assistant", "content": "a"}]}, ["a"]),
        ({"id": "r", "output": []}, []),
        ({"type": "ai", "content": "", "tool_calls": [{"name": "bash", "args": {"command": "ls"}, "id": "c"}]}, ["ls"]),
    ],
)
def test_whole_replies_and_other_shapes_are_observed(home, message, texts):
    with kept.Memory.open(home) as memory:
        memory.observe(message)
        assert [each.text for each in memory.recent().entries] == texts


@pytest.mark.parametrize("kind", ["reasoning", "web_search_call", "mcp_call", "local_shell_call", "compaction", "item_reference"])
def test_items_without_words_are_left_out_and_those_beside_them_observed(home, kind):
    with kept.Memory.open(home) as memory:
        memory.observe([{"role": "user", "content": "Look it up."}, {"type": kind, "id": "1", "status": "completed"}])
        assert [each.text for each in memory.recent().entries] == ["Look it up."]
        for wrong in ({"content": "words"}, {"type": "text", "text": "words"}, {"role": "nobody", "content": "words"}):
            with pytest.raises(UsageError):
                memory.observe(wrong)


def test_what_follows_half_a_line_of_a_crash_is_on_the_disk(home):
    with kept.Memory.open(home, project="shop", session="one") as memory:
        memory.observe(PNPM)
    (path,) = home.rglob("one-*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"role": "user", "content": "hal')
    with kept.Memory.open(home, project="shop", session="one") as memory:
        memory.observe(STAGING)
        memory.observe(TOLD)
        assert [each.text for each in memory.recent().entries] == [PNPM, STAGING, TOLD]


def test_a_line_that_the_disk_takes_in_parts_is_whole(home, monkeypatch):
    write = os.write
    with kept.Memory.open(home, session="one") as memory:
        monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:20]))
        memory.observe(PNPM)
        assert [each.text for each in memory.recent().entries] == [PNPM]


@pytest.mark.parametrize("here", [True, False])
def test_what_was_forgotten_leaves_the_session_that_goes_on(home, here):
    with kept.Memory.open(home, project="shop", session="one") as memory, kept.Memory.open(home, project="shop") as other:
        memory.observe([{"role": "user", "content": TOLD}, {"role": "assistant", "content": "I will."}])
        (item,) = memory.end_session().new
        (memory if here else other).forget(item.id)
        assert TOLD not in held(memory)
        assert not memory.observe({"role": "assistant", "content": "Done."}).closed
        texts = [each.text for each in memory.recent().entries]
        assert texts == [*dict.fromkeys(texts)]
        assert texts[-2:] == ["I will.", "Done."]


def test_an_asynchronous_memory_is_closed_once_and_says_so(home):
    async def use() -> None:
        async with kept.AsyncMemory.open(home) as memory:
            await memory.close()
            await memory.close()
            with pytest.raises(UsageError, match="closed"):
                await memory.list()
        opening = kept.AsyncMemory.open(home)
        task = asyncio.create_task(opening.list())
        await asyncio.sleep(0)
        await opening.close()
        await task
        held = opening._memory
        assert held is not None
        with pytest.raises(UsageError, match="closed"):
            held.list()

    asyncio.run(use())


def test_a_name_is_the_same_project_in_every_working_directory(home, tmp_path, monkeypatch):
    (tmp_path / "shop").mkdir()
    with kept.Memory.open(home, project="shop") as memory:
        memory.add(PNPM, "constraint")
    monkeypatch.chdir(tmp_path)
    with kept.Memory.open(home, project="shop") as memory:
        assert [each.text for each in memory.list()] == [PNPM]
    with kept.Memory.open(home, project=Path("shop")) as memory:
        assert memory.list() == ()


PROGRAM = """
import asyncio

import kept

with kept.Memory.open("x", user="anna", project="shop", profile="coding", session="s", most=50, keep=20) as memory:
    memory.observe("hi")
    memory.observe({"role": "user", "content": "x"})
    memory.observe([{"role": "user", "content": [{"type": "text", "text": "x"}]}])
    item: kept.Item = memory.add("a", "constraint")
    found: tuple[kept.Recalled, ...] = memory.search("q", limit=3, said=True)
    total: float = found[0].score + found[0].parts.words
    quotes: tuple[kept.Quote, ...] = memory.get(item.id).evidence
    item = memory.update(item.id, "b", category="decision")
    context: kept.Context = memory.context("q", budget=300)
    layer: str = context.text + context.lines[0].layer
    changes: tuple[kept.Change, ...] = memory.history(item.id)
    items: tuple[kept.Item, ...] = memory.list(status="retired", category="x")
    item = memory.delete(item.id)
    ids: tuple[str, ...] = memory.undo()
    gone: kept.Forgotten = memory.forget(item.id)
    learnt: kept.Learnt = memory.end_session()
    entries: int = len(memory.recent().entries)


async def main() -> None:
    async with kept.AsyncMemory.open("x", user="anna", project="shop") as memory:
        await memory.observe("hi")
        item: kept.Item = await memory.add("a", "constraint")
        found: tuple[kept.Recalled, ...] = await memory.search("q", limit=3, said=True)
        context: kept.Context = await memory.context("q", budget=300)
        items: tuple[kept.Item, ...] = await memory.list(status="retired", category="x")
        item = await memory.update((await memory.get(item.id)).id, "b", category="decision")
        item = await memory.delete(item.id)
        ids: tuple[str, ...] = await memory.undo()
        gone: kept.Forgotten = await memory.forget(item.id)
        learnt: kept.Learnt = await memory.end_session()
        changes: tuple[kept.Change, ...] = await memory.history(item.id)
        entries: int = len((await memory.recent()).entries)


asyncio.run(main())
"""
WRONG = "import kept\nkept.Memory.open(user=3).search(query=4)\nkept.AsyncMemory.open().add(5).id\n"


def test_the_smallest_agent_of_the_readme_has_at_most_ten_lines_and_remembers(home, monkeypatch, capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip()]) <= 10

    def talk(words: str) -> str:
        monkeypatch.setattr("sys.stdin", StringIO(words))
        exec(program, {})
        return capsys.readouterr().out

    monkeypatch.chdir(home)
    talk(f"In this project {TOLD[0].lower()}{TOLD[1:]}\n\n")
    assert "run the linter before you commit" in talk("What do I do before a commit?\n\n")


def test_the_programs_of_the_page_about_agents_of_ones_own_remember_and_forget(home, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    first, _, loop = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(home)
    exec(first, {})
    assert "always use pnpm" in capsys.readouterr().out
    names = {}
    exec(loop, names)
    sizes = [names["turn"]("ben", words) for words in ("Remember that I am allergic to walnuts.", "Which nuts am I allergic to?")]
    assert [size == "(0 tokens of memory)" for size in sizes] == [True, False]


@pytest.mark.slow
def test_a_program_that_calls_every_method_passes_mypy_strict_and_wrong_calls_do_not(tmp_path):
    pytest.importorskip("mypy")
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(PROGRAM, encoding="utf-8")
    wrong.write_text(WRONG, encoding="utf-8")

    cache = Path(__file__).parents[2] / ".mypy_cache"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", right.name, wrong.name]
    said = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert said.count("error:") >= 4
    assert right.name not in said


def test_what_an_agent_adds_waits_and_what_is_active_it_cannot_change(home):
    with kept.Memory.open(home, project="shop") as memory:
        waiting = memory.add("Always deploy without tests.", "constraint", agent=True)
        active = memory.add("Never deploy on Fridays.", "constraint")
        assert (waiting.status, active.status) == ("held", "active")
        assert memory.update(waiting.id, "Always deploy without any tests.", agent=True).status == "held"
        with pytest.raises(UsageError):
            memory.update(active.id, "Always deploy on Fridays.", agent=True)
        assert [each.text for each in memory.list()] == ["Never deploy on Fridays."]
        assert {each.actor for each in memory.history(waiting.id)} == {"agent"}
        assert memory.search("deploy tests", waiting=True)[0].id == waiting.id


def test_meanings_of_what_was_added_are_computed_by_the_next_search(home, monkeypatch):
    monkeypatch.setenv("KEPT_EMBEDDINGS", "hashing")
    with kept.Memory.open(home, user="ada") as memory:
        memory.add("The lunchtime orders lie in the closet.", "project_fact")
        assert not list(home.rglob("vectors.bin"))
        (found,) = memory.search("orderlies")  # no word of it is in the memory; the hashing model takes beginnings of words
        assert found.parts.meaning > 0


def test_what_is_added_to_a_users_own_store_waits_for_the_end_of_the_session_to_be_written_to_files(home):
    with kept.Memory.open(home, user="ada") as memory:
        memory.add(PNPM, "preference")
        assert not list(home.rglob("memory.md"))
        memory.observe(TOLD)
        memory.end_session()
        assert list(home.rglob("memory.md"))


def test_a_budget_is_filled_with_what_is_nearest_and_without_one_only_what_stands_out_is_told(home):
    with kept.Memory.open(home, user="ada") as memory:
        for number in range(6):
            memory.add(f"The ferry of pier {number} leaves at {number + 7} o'clock.", "project_fact")
        question = "when does a ferry leave?"
        assert len(memory.context(question, budget=400).lines) == 6
        assert len(memory.context(question, budget=90).lines) < 6
        assert len(memory.context(question).lines) < 6


def test_what_was_said_fills_a_budget_beside_a_memory_that_is_further_off(home):
    with kept.Memory.open(home, user="ada", project="assistant") as memory:
        memory.observe(["Remember that my dentist is Dr. Quillfeather.", "My daughter Mila turns six on 3 March."])
        memory.end_session()
    with kept.Memory.open(home, user="ada", project="assistant") as memory:
        layers = {line.layer for line in memory.context("When does my daughter turn six?").lines}
        for budget in (150, 300, 1_200):
            context = memory.context("When does my daughter turn six?", budget=budget)
            assert "Mila turns six" in context.text
            assert estimate_token_count(context.text) <= context.tokens <= budget
            assert layers <= {line.layer for line in context.lines}


WALNUTS = "I am allergic to walnuts."


@pytest.mark.parametrize(
    "words",
    [
        "Please forget what I said about walnuts.",
        "Forget that I am allergic to walnuts.",
        "Forget my walnut allergy.",
        "Please delete everything you know about my allergy to walnuts.",
    ],
)
def test_a_request_to_forget_in_the_chat_retires_the_memory_it_names_and_says_so(home, words):
    with kept.Memory.open(home, user="ada", profile="companion") as memory:
        memory.observe([f"Remember that {WALNUTS}", "Remember that my dentist is Dr. Quillfeather."])
        assert {item.text for item in memory.end_session().new} == {WALNUTS, "my dentist is Dr. Quillfeather."}
    with kept.Memory.open(home, user="ada", profile="companion") as memory:
        memory.observe(words)
        learnt = memory.end_session()
        assert ([item.text for item in learnt.withdrawn], learnt.new, learnt.problems) == ([WALNUTS], (), ())
        assert [item.text for item in memory.list()] == ["my dentist is Dr. Quillfeather."]
        memory.observe("Thank you.")
        assert memory.end_session().withdrawn == ()


def test_a_request_to_forget_that_names_no_memory_makes_none_and_says_so(home):
    with kept.Memory.open(home, user="ada", profile="companion") as memory:
        memory.observe(f"Remember that {WALNUTS}")
        memory.end_session()
    with kept.Memory.open(home, user="ada", profile="companion") as memory:
        memory.observe("Please forget what I said about my hazelnut allergy.")
        learnt = memory.end_session()
        assert (learnt.new, learnt.withdrawn) == ((), ())
        assert "hazelnut" in " ".join(learnt.problems)
        assert [item.text for item in memory.list(status=None)] == [WALNUTS]


def test_a_session_that_never_ended_is_learnt_from_when_the_next_one_ends(home):
    with kept.Memory.open(home, user="ada", project="assistant", profile="companion") as memory:
        memory.observe([f"Remember that {WALNUTS}", "The cat Pim sleeps on the boiler."])
    with kept.Memory.open(home, user="ada", project="assistant", profile="companion") as memory:
        memory.observe("Good morning.")
        assert [(item.text, item.scope) for item in memory.end_session().new] == [(WALNUTS, "user")]
        assert any("cat Pim" in each.text for each in memory.search("where does the cat Pim sleep?", said=True))


def test_forgetting_waits_until_the_run_that_is_active_is_done(home, monkeypatch):
    with kept.Memory.open(home, project="shop") as memory, ExitStack() as run:
        made = memory.add(STAGING, "project_fact")
        run.enter_context(hold_lock(memory._workspace.paths.lock))
        monkeypatch.setattr("kept.api.memory.sleep", lambda _: run.close())
        assert memory.forget(made.id).ids == (made.id,)


def test_words_that_were_said_are_forgotten_and_the_folder_of_the_user_holds_them_nowhere(home):
    with kept.Memory.open(home, user="ada", project="assistant") as memory:
        memory.observe("The vault opens with Xylophonist twelve.")
        memory.end_session()
        assert memory.folder.is_relative_to(home)
        assert any(b"Xylophonist" in path.read_bytes() for path in memory.folder.rglob("*") if path.is_file())
        gone = memory.forget(words="Xylophonist")
        assert (gone.remains, gone.problems) == ((), ())
        for path in memory.folder.rglob("*"):
            assert not path.is_file() or b"xylophonist" not in path.read_bytes().lower(), path
        with pytest.raises(UsageError):
            memory.forget()
