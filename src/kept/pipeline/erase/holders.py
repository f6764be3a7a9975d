"""The list of all holders. Code that stores text must register a holder here, which finds and erases words in that text.

The order is the order of erasing. The store comes near the end, because the other holders search with its texts. Only data derived
from it follows. An interrupted erasure can simply be repeated.
"""

from collections.abc import Iterator

from kept.core.erasure import ErasureMatch, ErasureWords, Holder
from kept.core.value import dataclass
from kept.journal.feed_reading import erase_items, find_items
from kept.memories.synced_folder import SyncFolder
from kept.memories.team import SharedLines
from kept.memories.waiting import COUNTS, JUDGED
from kept.paths import sample_home
from kept.pipeline.erase.files import JournalEntries, OutputFiles, RecordingFile, ReplyFile, SampleHome, TextFiles, WordlessFiles
from kept.pipeline.erase.store import BackupCopies, StoreHolder
from kept.workspace import Workspace

_WORDLESS = (
    *("*.lock", "web.key", "web.port", "*.sock", "vectors.bin*", "used.log", "used.taken", "program", "mcp.key"),
    *("plugin.since", ".*.new", "*.restoring*"),
)


@dataclass(frozen=True, kw_only=True)
class FeedItems:
    """The items of external sources."""

    workspace: Workspace
    name: str = "external sources"
    claims: tuple[str, ...] = ("feeds/*.jsonl",)

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the items that contain the words."""
        for item in find_items(self.workspace, words.is_in_text):
            yield ErasureMatch(holder=self.name, where=item.source, text=words.excerpt(f"{item.title} {item.text}"))

    def erase(self, words: ErasureWords) -> int:
        """Erase these items. Raises KeptError."""
        return erase_items(self.workspace, words.is_in_text)


def list_holders(workspace: Workspace, *, quick: bool = False) -> tuple[Holder, ...]:
    """Return all holders in the order of erasing. If ``quick``, they search faster but incompletely, for previews only."""
    state, root = workspace.paths.state, workspace.paths.root
    main = (workspace.profile.id, workspace.profile.categories[0].id)

    def texts(name: str, *claims: str, removable: bool = False) -> TextFiles:
        return TextFiles(name=name, folder=state, claims=claims, root=root, removable=removable)

    return (
        SharedLines(workspace=workspace),
        SyncFolder(workspace=workspace),
        JournalEntries(workspace=workspace),
        FeedItems(workspace=workspace),
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
            "written.json",
            "first_commits.json",
            "branches.json",
            COUNTS,
            JUDGED,
        ),
        texts("what hooks left", "hooks/*"),
        texts("changes that wait for the server", "outbox.jsonl"),
        texts("files put aside", "aside/*", "prompts/*"),
        texts("an archive that was being fetched", "fetched/**/*", removable=True),
        SampleHome(folder=sample_home(workspace.paths).root),
        WordlessFiles(name="locks, keys and vectors", claims=_WORDLESS),
        BackupCopies(workspace=workspace, quick=quick),
        StoreHolder(store=workspace.store, clock=workspace.clock, profile=main, quick=quick),
        OutputFiles(workspace=workspace),
    )
