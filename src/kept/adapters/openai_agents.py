"""OpenAI Agents SDK: a session that learns from its items, and puts memory before them."""

from agents import SQLiteSession, TResponseInputItem
from agents.memory import Session, SessionSettings

from kept.api import AsyncMemory


class KeptSession:
    """The items of ``inner`` (in memory where there is none), observed by ``memory``; before them stands one item with what is
    worth knowing before the last of the user's. ``budget`` is in tokens.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, memory: AsyncMemory, session_id: str, inner: Session | None = None, *, budget: int | None = None) -> None:
        self.session_id = session_id
        self._memory, self._inner, self._budget = memory, inner or SQLiteSession(session_id), budget

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """What is worth knowing, then the latest items."""
        items = await self._inner.get_items(limit)
        asked = next((str(each.get("content")) for each in reversed(items) if each.get("role") == "user"), "")
        context = await self._memory.context(asked, budget=self._budget)
        return [{"role": "developer", "content": context.text}, *items] if context else items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items, and observe them."""
        await self._inner.add_items(items)
        await self._memory.observe([dict(each) for each in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item out of the session; that it was said stays observed."""
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Empty the session; what is remembered stays."""
        await self._inner.clear_session()
