"""What programs that build agents import: :class:`Memory`, :class:`AsyncMemory` and what they return."""

from kept.api.asynchronous import AsyncMemory
from kept.api.memory import Memory
from kept.api.values import Change, Context, Forgotten, Item, Learnt, Line, Quote, Recalled, Score

__all__ = ["AsyncMemory", "Change", "Context", "Forgotten", "Item", "Learnt", "Line", "Memory", "Quote", "Recalled", "Score"]
