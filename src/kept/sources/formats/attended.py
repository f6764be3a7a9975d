"""Whether a session that no terminal shows may be a person's: what they type to `claude -p` or `codex exec`, or their own scripts
do.

One rule for every client. A program's own sessions (an SDK), and those in folders that no person works in, are the program's.
"""

import re

# Folders of temporary files and of build machines.
_UNATTENDED = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders)(?:/|$)|^/dev/shm(?:/|$)|^/(?:github/workspace|__w|builds)(?:/|$)"
    r"|^/home/(?:runner|circleci|vsts)/"
    r"|^/(?:var/lib/)?(?:jenkins|buildkite-agent)(?:/|$)|^[A-Za-z]:\\(?:Users\\[^\\]+\\AppData\\Local\\Temp|Windows\\Temp"
    r"|a)(?:\\|$)"
)

PRINTED = "sdk-cli"  # the entry point of `claude -p`, at a terminal or in a script
_SDKS = ("sdk", "codex_sdk")  # how entry points of Claude Code and originators of Codex begin


def is_sdk(entry: object) -> bool:
    """Whether a session was begun by a program that uses a client's library."""
    return isinstance(entry, str) and entry.startswith(_SDKS) and entry != PRINTED


def is_unattended(folder: object) -> bool:
    """Whether a session's folder is one that no person works in; a folder that is not told is taken for such."""
    return not isinstance(folder, str) or not folder or bool(_UNATTENDED.search(folder))
