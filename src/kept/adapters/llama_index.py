"""LlamaIndex: a memory block that observes the messages of an agent's memory, and returns relevant memory."""

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory.memory import BaseMemoryBlock

from kept.api import AsyncMemory

_ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


class KeptMemoryBlock(BaseMemoryBlock[str]):
    """A block for ``Memory.from_defaults(memory_blocks=[…])``. ``budget`` is in tokens.

    LlamaIndex passes a block only messages that exceed its short-term memory. So at the end of a conversation, pass the others with
    ``await block.aput(await chat.aget_all())``, then call ``end_session()``.
    """

    name: str = "kept"
    memory: AsyncMemory
    budget: int | None = None

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        """Return the relevant memory for the user's last message."""
        asked = next((item.content or "" for item in reversed(messages or []) if item.role == MessageRole.USER), "")
        return (await self.memory.context(asked, budget=self.budget)).text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        entries = [{"role": _ROLES.get(message.role, "system"), "content": message.content or ""} for message in messages]
        await self.memory.observe(entries)
