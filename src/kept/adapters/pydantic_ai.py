"""Pydantic AI: instructions with relevant memory before a prompt, and observation of messages.

``Agent(model, instructions=instructions(memory))``, and after a run ``await observe(memory, result.new_messages())``.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from kept.api import AsyncMemory


def instructions(memory: AsyncMemory, *, budget: int | None = None) -> Callable[[RunContext[Any]], Awaitable[str]]:
    """Return instructions that add relevant memory before the prompt of a run. ``budget`` is in tokens."""

    async def about_prompt(context: RunContext[Any]) -> str:
        prompt = context.prompt if isinstance(context.prompt, str) else ""
        return (await memory.context(prompt, budget=budget)).text

    return about_prompt


async def observe(memory: AsyncMemory, messages: Sequence[ModelMessage]) -> None:
    """Observe the messages of a run."""
    await memory.observe([record for message in messages for record in _records(message)])


def _records(message: ModelMessage) -> Iterator[dict[str, object]]:
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                texts = [content] if isinstance(content, str) else [item for item in content if isinstance(item, str)]
                yield {"role": "user", "content": "\n".join(texts)}
            case TextPart(content=content):
                yield {"role": "assistant", "content": content}
            case ToolCallPart(tool_name=name, tool_call_id=number):
                call = {"name": name, "args": part.args_as_dict(), "id": number}
                yield {"role": "assistant", "content": "", "tool_calls": [call]}
            case ToolReturnPart(tool_name=name, tool_call_id=number):
                yield {"role": "tool", "name": name, "tool_call_id": number, "content": part.model_response_str()}
