"""OpenAI Agents SDK: a session that observes its items, and a filter that adds memory before each model call."""

from agents import SQLiteSession, TResponseInputItem
from agents.memory import Session, SessionSettings
from agents.run import CallModelData, CallModelInputFilter, ModelInputData

from kept.api import AsyncMemory


def recall(memory: AsyncMemory, *, budget: int | None = None) -> CallModelInputFilter:
    """Return a ``call_model_input_filter`` for a ``RunConfig``. It adds relevant memory (``budget`` tokens) after the
    instructions.
    """

    async def with_memory(data: CallModelData[object]) -> ModelInputData:
        given = data.model_data
        asked = next((str(item.get("content")) for item in reversed(given.input) if item.get("role") == "user"), "")
        context = await memory.context(asked, budget=budget)
        parts = "\n\n".join(item for item in (given.instructions, context.text) if item)
        return ModelInputData(input=given.input, instructions=parts or None)

    return with_memory


class KeptSession:
    """A session that stores its items in ``inner`` (default: in RAM) and lets ``memory`` observe them."""

    session_settings: SessionSettings | None = None

    def __init__(self, memory: AsyncMemory, session_id: str, inner: Session | None = None) -> None:
        self.session_id = session_id
        self._memory, self._inner = memory, inner or SQLiteSession(session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest ``limit`` items, or all."""
        items: list[TResponseInputItem] = await self._inner.get_items(limit)
        return items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, and observe them."""
        await self._inner.add_items(items)
        await self._memory.observe([dict(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the latest item from the session. It stays in kept's transcript."""
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Clear the session. Memories stay."""
        await self._inner.clear_session()
