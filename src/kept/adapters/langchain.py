"""LangChain: a chat history that observes its messages, and a chain step that adds memory before a prompt."""

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.messages import BaseMessage, SystemMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableLambda

from kept.api import Memory


def recall(
    memory: Memory, *, budget: int | None = None
) -> RunnableLambda[PromptValue | Sequence[BaseMessage] | str, list[BaseMessage]]:
    """Return a chain step for use before a model. It adds relevant memory (``budget`` tokens) in front of the messages."""

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
    """A chat history that stores its messages in ``inner`` (default: in RAM) and lets ``memory`` observe them."""

    def __init__(self, memory: Memory, inner: BaseChatMessageHistory | None = None) -> None:
        self._memory, self._inner = memory, inner or InMemoryChatMessageHistory()

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages of the conversation."""
        return list(self._inner.messages)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages to the conversation, and observe them."""
        self._inner.add_messages(messages)
        self._memory.observe(list(messages))

    def clear(self) -> None:
        """Clear the conversation. Memories stay."""
        self._inner.clear()
