"""Remove the text that clients put around a tool's result, so that the same result through two clients has the same text."""

from kept.core.pattern import Pattern

_TAGS = (
    "untrusted_context|output|result|stdout|stderr|error|response|tool_result|tool_output|tool_use_error|function_results"
    "?|persisted-output"
)
_OPENED = Pattern(rf"(?i)^\s*<({_TAGS}|[a-z]+[_-][a-z_-]+)(?:\s[^<>\n]*)?>[ \t]*\n?")
_HEAD = (
    "Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code|Original token count|Total "
    "output lines|Command|Directory"
    "|Duration|Status"
)
_ENVELOPES = ("<", "Output:", "Stdout:", *_HEAD.split("|"))  # how a text with tags or status lines around it begins
_ABOVE = Pattern(rf"^\s*(?:(?:{_HEAD})\b[^\n]*\n)*(?:Output|Stdout):[ \t]*(?:\n|$)?")
_BELOW = Pattern(
    r"\n(?:(?:Error|Stderr|Signal|Background PIDs|Process Group PGID|Exit Code|Exit code): ?(?:\(none\)|\(empty\)|null"
    r"|-?\d+)[ \t]*(?:\n|$))+\s*$"
)
_NOTHING = frozenset({"(empty)", "(none)"})
_LAYERS = 4  # maximum number of nested envelopes that are removed


def unwrap_result(text: str) -> str:
    """Remove the tags and status lines around a tool's result. The function is idempotent."""
    for _ in range(_LAYERS):
        if not text.lstrip().startswith(_ENVELOPES):
            break
        inner = _strip_status_lines(_strip_tag(text))
        if inner == text:
            break
        text = inner
    return text


def _strip_tag(text: str) -> str:
    opened = _OPENED.match(text)
    if opened is None:
        return text
    closing = f"</{opened[1]}>"
    bare = text.rstrip()
    return bare[opened.end() : -len(closing)].strip("\n") if bare.casefold().endswith(closing.casefold()) else text


def _strip_status_lines(text: str) -> str:
    above = _ABOVE.match(text)
    if above is None:
        return text
    inner = _BELOW.sub("", "\n" + text[above.end() :]).removeprefix("\n").strip("\n")
    head, mark, error = inner.partition("\nError: ")
    inner = f"{head}\n{error}" if mark and "\n" not in error.strip() else inner
    return "" if inner.strip() in _NOTHING else inner
