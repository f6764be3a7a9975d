"""Holders for the replies of language models and for recordings of them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.value import dataclass
from kept.llm.adapters.recorded import remove_recorded_replies
from kept.llm.replies import ReplyCache
from kept.local import files
from kept.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class ReplyFile:
    """The reply file. A reply about a session in which the words were said is erased whole, because it may paraphrase them."""

    path: Path
    name: str = "what models replied"
    claims: tuple[str, ...] = ("replies.db", "replies.db-journal")

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield one place per reply."""
        with closing(ReplyCache(self.path)) as replies:
            keys = replies.find_reply_keys(words.about, words.is_in_text)
        yield from (ErasureMatch(holder=self.name, where=f"reply {key[:12]}", text="") for key in keys)

    def erase(self, words: ErasureWords) -> int:
        """Erase the replies, and mark pending batches so that what they return about the sessions is dropped. Raises StoreError."""
        with closing(ReplyCache(self.path)) as replies:
            return replies.erase_replies(words.about, words.is_in_text)


@dataclass(frozen=True, kw_only=True)
class RecordingFile:
    """The recording of a model that the settings name."""

    workspace: Workspace
    name: str = "the recording of a model"
    claims: tuple[str, ...] = ()

    @property
    def path(self) -> Path | None:
        """Its path; None if there is none."""
        path = Path(self.workspace.settings.llm.recording).expanduser().resolve()
        return path if path.is_file() else None

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """Yield the recording once, if any of its lines is about what is to be forgotten."""
        path = self.path
        if path is not None and remove_recorded_replies(files.read_text(path), words.about, words.is_in_text)[1]:
            yield ErasureMatch(holder=self.name, where=str(path), text="")

    def erase(self, words: ErasureWords) -> int:
        """Remove those lines. Raises KeptError if the file cannot be written."""
        path = self.path
        if path is None:
            return 0
        before = files.read_file(path)
        left, count = remove_recorded_replies(before.data.decode("utf-8", "replace"), words.about, words.is_in_text)
        if count:
            files.write_if_unchanged(path, left.encode(), expect=before.stamp, root=path.parent)
        return count
