"""LangChain: a chat history that learns from what is added to it, and a step of a chain that puts memory before a prompt."""

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import BaseMessage, SystemMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableLambda

from kept.api import Memory


def recall(
    memory: Memory, *, budget: int | None = None
) -> RunnableLambda[PromptValue | Sequence[BaseMessage] | str, list[BaseMessage]]:
    """The step before a model: what is worth knowing (``budget`` tokens) before the user's last message, then the messages."""

    def with_memory(given: PromptValue | Sequence[BaseMessage] | str) -> list[BaseMessage]:
        messages = (
            given.to_messages()
            if isinstance(given, PromptValue)
            else convert_to_messages([given] if isinstance(given, str) else given)
        )
        asked = next((str(message.content) for message in reversed(messages) if message.type == "human"), "")
        context = memory.context(asked, budget=budget)
        return [SystemMessage(content=context.text), *messages] if context else messages

    return RunnableLambda(with_memory)


class KeptChatMessageHistory(BaseChatMessageHistory):
    """The messages of ``inner`` (in memory where there is none), observed by ``memory``."""

    def __init__(self, memory: Memory, inner: BaseChatMessageHistory | None = None) -> None:
        self._memory, self._inner = memory, inner or InMemoryChatMessageHistory()

    @property
    def messages(self) -> list[BaseMessage]:
        """The conversation."""
        return list(self._inner.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add to the conversation, and observe."""
        self._inner.add_messages(messages)
        self._memory.observe(list(messages))

    def clear(self) -> None:
        """Empty the conversation; what is remembered stays."""
        self._inner.clear()
