"""One thing the doctor looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFinding:
    """One thing looked at: ``well`` is False where it is wrong, None where it is only worth knowing; ``fix`` is the command that
    mends it, or what to do. ``repair`` names what ``kept doctor --fix`` does about it; empty where that is a person's to do.
    """

    name: str
    well: bool | None
    detail: str
    fix: str = ""
    repair: str = ""
