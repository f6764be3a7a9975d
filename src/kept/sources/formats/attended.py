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


def is_unattended(folder: object) -> bool:
    """Whether a session's folder is one that no person works in; a folder that is not told is taken for such."""
    return not isinstance(folder, str) or not folder or bool(_UNATTENDED.search(folder))
