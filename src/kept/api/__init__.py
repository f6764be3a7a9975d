"""The public API for programs that build agents: :class:`Memory`, :class:`AsyncMemory` and the values that they return."""

from kept.api.asynchronous import AsyncMemory
from kept.api.memory import Memory
from kept.api.values import Change, Context, Forgotten, Item, Learnt, Line, Quote, Recalled, Score

__all__ = ["AsyncMemory", "Change", "Context", "Forgotten", "Item", "Learnt", "Line", "Memory", "Quote", "Recalled", "Score"]
