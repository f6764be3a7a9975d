"""kept: a small, curated, inspectable memory out of what people and agents already wrote down.

For those who build an agent: ``with kept.Memory.open(project=".") as memory`` (see :class:`kept.api.Memory`).
"""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``kept.Memory``, imported when it is first asked for: the commands need none of it to start."""
    if name == "Memory":
        from kept.api import Memory  # noqa: PLC0415 - as above

        return Memory
    raise AttributeError(name)
