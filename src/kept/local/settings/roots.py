"""Roots: folders and files a person says are to be read at every run, with what they say of them.

Pure but for one look at the markers of a vault.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kept.core.errors import ConfigError

AUTHORS = ("person", "agent")
_VAULT = "vault"
_VAULT_MARKERS = (".memory-loop.json", ".obsidian", "logseq")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceRoot:
    """A table ``[[root]]``: a folder or file that every run reads.

    ``format`` is the format of files in it that no format claims by their contents; ``project`` what all of it is filed under;
    ``author`` (``person`` or ``agent``) whose words notes are that nobody signed.
    """

    path: str = ""
    format: str = ""
    project: str = ""
    author: str = ""

    def resolve(self, user: Path) -> Path:
        """The absolute path; ``~`` is the user's home."""
        return user / self.path[2:] if self.path.startswith("~/") else user if self.path == "~" else Path(self.path)


def check_root(root: SourceRoot, where: str) -> SourceRoot:
    """The root, where it is one. Raises ConfigError."""
    if not (root.path.startswith(("/", "~/")) or root.path == "~" or Path(root.path).is_absolute()) or "\0" in root.path:
        raise ConfigError("a root has an absolute path", where=where, hint='[[root]] path = "~/notes"')
    if root.author not in ("", *AUTHORS):
        raise ConfigError(f"a root's author is {' or '.join(AUTHORS)}", where=where)
    return root


def find_root_above(roots: Sequence[SourceRoot], path: Path, user: Path) -> SourceRoot | None:
    """The nearest root that a path is, or lies in; None where there is none."""
    above = [root for root in roots if path.is_relative_to(root.resolve(user))]
    return max(above, key=lambda root: len(root.resolve(user).parts), default=None)


def is_vault(root: SourceRoot, user: Path) -> bool:
    """Whether a root is a vault of notes: by its format, or by what vaults keep in their folder."""
    return root.format == _VAULT or (not root.format and any((root.resolve(user) / name).exists() for name in _VAULT_MARKERS))
