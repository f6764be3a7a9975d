"""Artifacts: the concrete things that a text names, by which a memory can be checked and found again.

Artifacts are files and paths, code identifiers, flags, variables, versions, error codes, quoted literals and addresses. Their shape
identifies them; there are no lists of names. Only the first 4,000 characters of a text are read.
"""

from functools import lru_cache

from kept.core.pattern import compile_late

_READ_CHARS = 4_000
# Each alternative starts with a distinct class and has no nested repetition, so matching takes linear time. Only a URL can begin
# within a word. Checking first for the start of a word that has more than letters takes a third of the time.
_SHAPES = compile_late(
    r"(?:(?<!\w)(?=[\w~.@/+-])(?![A-Z]?+[a-z]++(?![\w.@/+-]))|(?=[`\"“#]|https?://))(?:"
    r"`(?P<code>[^`\n]{2,120})`"
    r"|(?P<url>https?://[^\s)>\]\"']{4,200})"
    r"|(?P<quoted>\"[^\"\n]{2,60}\"|“[^”\n]{2,60}”)"
    r"|(?<![\w/.@-])(?P<path>(?:~|\.{1,2}|@)?/?(?:[\w.@+-]{1,80}/){1,12}[\w.@+*-]{0,80})"
    r"|(?<![\w-])(?P<flag>--?[A-Za-z][\w-]{1,40}(?:=\S{1,40})?)"
    r"|(?<![\w.])(?P<file>\.?[\w-]{1,60}(?:\.[\w-]{1,40}){0,3}\.[A-Za-z][A-Za-z0-9]{0,8}|\.[a-z][\w-]{2,40})(?![\w(])"
    r"|(?<![\w.])(?P<dotted>[A-Za-z_]\w{1,60}(?:\.[A-Za-z_]\w{1,60}){1,4})(?!\w)"
    r"|(?<![\w.])(?P<version>v?\d{1,4}\.\d{1,5}(?:\.\d{1,5}){0,2}(?:[-+][\w.]{1,20})?)(?![\w.]\w)"
    r"|(?P<color>#[0-9A-Fa-f]{6}\b|#\d{1,6}\b)"
    r"|\b(?P<snake>[A-Za-z][A-Za-z0-9]{0,40}(?:_[A-Za-z0-9]{1,40}){1,8})\b"
    r"|\b(?P<camel>[a-z]{1,40}[A-Z][A-Za-z0-9]{1,60}|[A-Z][a-z0-9]{1,40}[A-Z][A-Za-z0-9]{0,60}|[A-Z]{2,10}[a-z][A-Za-z0-9]{1,40})\b"
    r"|\b(?P<caps>[A-Z][A-Z0-9]{1,15}[0-9])\b"
    r"|\b(?P<hyphen>[a-z0-9]{2,30}(?:-[a-z0-9]{1,30}){1,5})\b)"
)
_PLAIN_HYPHEN = compile_late(
    r"^(?:\d+-[a-z]+|[a-z]+-(?:in|up|off|out|on|to|ups?|by|time|term|level|based|like|free|related|specific|side|case"
    r"|style|line|end|ed|ing))$"
)


@lru_cache(maxsize=256)  # each candidate's content is asked several times
def find_artifacts(text: str) -> tuple[str, ...]:
    """The artifacts that a text names, in order, without duplicates or quotation marks; at most 24."""
    artifacts: dict[str, None] = {}
    for match in _SHAPES.finditer(text[:_READ_CHARS]):
        kind = match.lastgroup or ""
        name = match[kind].strip('"“” ').rstrip(".,:;!?)'")
        if _is_artifact(kind, name):
            artifacts.setdefault(name)
        if len(artifacts) == 24:
            break
    return tuple(artifacts)


def _is_artifact(kind: str, name: str) -> bool:
    match kind:
        case "path":
            # "and/or" and "read/write" are prose. A path has a dot, a root, or more than one separator.
            return (
                len(name) > 3
                and any(char.isalpha() for char in name)
                and (
                    "." in name
                    or name.startswith(("/", "~", "@"))
                    or name.count("/") > 1
                    or name.endswith("/")
                    or any(c in name for c in "_-*")
                )
            )
        case "file":
            return (
                not name.replace(".", "").isdigit() and len(name) > 2 and name.lower() not in {"e.g", "i.e", "etc.", "a.m", "p.m"}
            )
        case "dotted":
            return name.lower() not in {"e.g", "i.e", "w.t.f"} and min(len(part) for part in name.split(".")) > 1
        case "hyphen":
            return not _PLAIN_HYPHEN.match(name)
        case "flag":
            return len(name) > 2 or name[1:].isalpha()
        case _:
            return len(name) > 1
