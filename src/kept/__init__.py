"""kept: a small, curated, inspectable memory made from what people and agents have already written.

For those who build an agent: ``with kept.Memory.open(project=".") as memory`` (see :class:`kept.api.Memory`).
"""

TYPE_CHECKING = False  # as in typing, which the hooks start without
if TYPE_CHECKING:
    from kept.api import AsyncMemory, Change, Context, Forgotten, Item, Learnt, Line, Memory, Quote, Recalled, Score

__all__ = [
    "AsyncMemory",
    "Change",
    "Context",
    "Forgotten",
    "Item",
    "Learnt",
    "Line",
    "Memory",
    "Quote",
    "Recalled",
    "Score",
    "__version__",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The classes of :mod:`kept.api`, imported on first use, because the commands start without them."""
    if name in __all__:
        from kept import api  # noqa: PLC0415 - as above

        return getattr(api, name)
    raise AttributeError(name)
