"""Every holder of words there is: whoever writes text anywhere registers here what finds and erases words in it.

The order is that of erasing: the store last but for what derives from it, for until then its words say what to look for. A call
that was cut short is simply made again.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kept.core.erasure import Holder, Place, Words
from kept.journal.feed_reading import erase_items, items_that
from kept.pipeline.erase.backups import Backups
from kept.pipeline.erase.files import Sample, TextFiles, Wordless
from kept.pipeline.erase.journal import Entries
from kept.pipeline.erase.models import RecordingFile, ReplyFile
from kept.pipeline.erase.outputs import Outputs
from kept.pipeline.erase.store import StoreHolder
from kept.pipeline.sample_run import sample_home
from kept.workspace import Workspace

_WORDLESS = (
    "*.lock",
    "web.key",
    "web.port",
    "*.sock",
    "vectors.bin*",
    "used.log",
    "used.taken",
    "program",
    "mcp.key",
    "plugin.since",
    ".*.new",
    "*.restoring*",
)


@dataclass(frozen=True, kw_only=True)
class Feeds:
    """What external sources brought."""

    workspace: Workspace
    name: str = "external sources"
    claims: tuple[str, ...] = ("feeds/*.jsonl",)

    def find(self, words: Words) -> Iterator[Place]:
        """The items that hold the words."""
        for item in items_that(self.workspace, words.stand_in):
            yield Place(holder=self.name, where=item.source, text=words.excerpt(f"{item.title} {item.text}"))

    def erase(self, words: Words) -> int:
        """Empty those items. Raises KeptError."""
        return erase_items(self.workspace, words.stand_in)


def holders(workspace: Workspace) -> tuple[Holder, ...]:
    """All of them, in the order of erasing."""
    state, root = workspace.paths.state, workspace.paths.root
    main = (workspace.profile.id, workspace.profile.categories[0].id)

    def texts(name: str, *claims: str, removable: bool = False) -> TextFiles:
        return TextFiles(name=name, folder=state, claims=claims, root=root, removable=removable)

    return (
        Entries(workspace=workspace),
        Feeds(workspace=workspace),
        ReplyFile(path=workspace.paths.replies),
        RecordingFile(workspace=workspace),
        texts("what agents observed", "agents/**/*"),
        texts("questions for the user's own agent", "jobs/*", removable=True),
        texts(
            "logs and notes of runs",
            "night.log*",
            "errors.log*",
            "night.json",
            "failures.json",
            "setup.json",
            "unread.json",
            "first_commits.json",
            "branches.json",
        ),
        texts("what hooks left", "hooks/*"),
        texts("files put aside", "aside/*", "prompts/*"),
        Sample(folder=sample_home(workspace.paths).root),
        Wordless(name="locks, keys and vectors", claims=_WORDLESS),
        Backups(workspace=workspace),
        StoreHolder(store=workspace.store, clock=workspace.clock, profile=main),
        Outputs(workspace=workspace),
    )
