"""LangChain: a chat history that learns from what is added to it, and puts memory before what it holds."""

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import BaseMessage, SystemMessage

from kept.api import Memory


class KeptChatMessageHistory(BaseChatMessageHistory):
    """The messages of ``inner`` (in memory where there is none), observed by ``memory``; before them stands one message with what
    is worth knowing before the last of the user's. ``budget`` is in tokens.
    """

    def __init__(self, memory: Memory, inner: BaseChatMessageHistory | None = None, *, budget: int | None = None) -> None:
        self._memory, self._inner, self._budget = memory, inner or InMemoryChatMessageHistory(), budget

    @property
    def messages(self) -> list[BaseMessage]:
        """What is worth knowing, then the conversation."""
        past = list(self._inner.messages)
        asked = next((str(each.content) for each in reversed(past) if each.type == "human"), "")
        context = self._memory.context(asked, budget=self._budget)
        return [SystemMessage(content=context.text), *past] if context else past

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add to the conversation, and observe."""
        self._inner.add_messages(messages)
        self._memory.observe(list(messages))

    def clear(self) -> None:
        """Empty the conversation; what is remembered stays."""
        self._inner.clear()
