"""Every holder of words there is: whoever writes text anywhere registers here what finds and erases words in it.

The order is that of erasing: the store last but for what derives from it, for until then its words say what to look for. A call that
was cut short is simply made again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kept.core.erasure import Holder, Place, Words
from kept.journal.feed_reading import erase_items, items_that
from kept.pipeline.erase.backups import Backups
from kept.pipeline.erase.files import Sample, TextFiles, Wordless
from kept.pipeline.erase.journal import Entries
from kept.pipeline.erase.models import RecordingFile, ReplyFile
from kept.pipeline.erase.outputs import Outputs
from kept.pipeline.erase.store import StoreHolder
from kept.pipeline.sample_run import sample_home
from kept.workspace import Desk

_WORDLESS = (
    "*.lock", "web.key", "web.port", "*.sock", "vectors.bin*", "used.log", "used.taken", "program", ".*.new", "*.restoring*",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Feeds:
    """What external sources brought."""

    desk: Desk
    name: str = "external sources"
    claims: tuple[str, ...] = ("feeds/*.jsonl",)

    def find(self, words: Words) -> Iterator[Place]:
        """The items that hold the words."""
        for item in items_that(self.desk, words.stand_in):
            yield Place(holder=self.name, where=item.source, text=words.excerpt(f"{item.title} {item.text}"))

    def erase(self, words: Words) -> int:
        """Empty those items. Raises KeptError."""
        return erase_items(self.desk, words.stand_in)


def holders(desk: Desk) -> tuple[Holder, ...]:
    """All of them, in the order of erasing."""
    state, root = desk.home.state, desk.home.root
    main = (desk.profile.id, desk.profile.categories[0].id)

    def texts(name: str, *claims: str, removable: bool = False) -> TextFiles:
        return TextFiles(name=name, folder=state, claims=claims, root=root, removable=removable)

    return (
        Entries(desk=desk),
        Feeds(desk=desk),
        ReplyFile(path=desk.home.replies),
        RecordingFile(desk=desk),
        texts("what agents observed", "agents/**/*"),
        texts("questions for the user's own agent", "jobs/*", removable=True),
        texts("logs and notes of runs", "night.log*", "errors.log*", "night.json", "failures.json", "setup.json", "unread.json"),
        texts("what hooks left", "hooks/*"),
        texts("files put aside", "aside/*", "prompts/*"),
        Sample(folder=sample_home(desk.home).root),
        Wordless(name="locks, keys and vectors", claims=_WORDLESS),
        Backups(desk=desk),
        StoreHolder(store=desk.store, clock=desk.clock, profile=main),
        Outputs(desk=desk),
    )


def unclaimed(desk: Desk) -> tuple[Path, ...]:
    """The files below the state folder that no holder answers for: one that writes text is not registered."""
    claims = [claim for holder in holders(desk) for claim in holder.claims]
    found = (path for path in sorted(desk.home.state.rglob("*")) if not path.is_dir())
    return tuple(path for path in found if not _claimed(PurePosixPath(path.relative_to(desk.home.state).as_posix()), claims))


def _claimed(path: PurePosixPath, claims: list[str]) -> bool:
    return any(
        path.as_posix().startswith(claim.removesuffix("**/*"))
        if claim.endswith("**/*")
        else len(path.parts) == len(PurePosixPath(claim).parts) and path.match(claim)
        for claim in claims
    )
