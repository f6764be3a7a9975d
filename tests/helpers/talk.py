"""A conversation for tests: events written as short lines."""

from datetime import UTC, datetime, timedelta

from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.memory import Accepted, Candidate
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.profiles import load_profile
from kept.profiles.lexicons import load_lexicon

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PROFILE = load_profile("coding")
LEXICON = load_lexicon(("en",))


def user(text: str, author: Author = Author.HUMAN) -> tuple[EventKind, Author, str, ToolUse | None]:
    return EventKind.PROMPT, author, text, None


def agent(text: str) -> tuple[EventKind, Author, str, ToolUse | None]:
    return EventKind.RESPONSE, Author.ASSISTANT, text, None


def edit(path: str) -> tuple[EventKind, Author, str, ToolUse | None]:
    return EventKind.TOOL_CALL, Author.ASSISTANT, "", ToolUse(name="Edit", target=path)


def output(text: str) -> tuple[EventKind, Author, str, ToolUse | None]:
    return EventKind.TOOL_OUTPUT, Author.TOOL, text, ToolUse(name="Bash")


def talk(*turns: tuple[EventKind, Author, str, ToolUse | None], session: str = "s1") -> list[Event]:
    return [
        Event(
            key=f"k{number}" if session == "s1" else f"{session}-{number}",
            twin="",
            session=session,
            record="",
            parent="",
            turn="",
            kind=kind,
            author=author,
            label_reason="",
            text=text,
            at=START + timedelta(minutes=number),
            precision=Precision.MESSAGE,
            project="/work/shop",
            branch="",
            tool=tool,
            pointer=Pointer(path=f"{session}.jsonl", line=number, start=0, end=0),
        )
        for number, (kind, author, text, tool) in enumerate(turns)
    ]


def found(*turns: tuple[EventKind, Author, str, ToolUse | None], lexicon=LEXICON) -> tuple[Candidate, ...]:
    events = talk(*turns)
    return extract_candidates(events, 0, len(events), profile=PROFILE, lexicon=lexicon, scope="project:shop")


def active(*turns: tuple[EventKind, Author, str, ToolUse | None], lexicon=LEXICON) -> list[str]:
    return [each.content for each in found(*turns, lexicon=lexicon) if isinstance(judge(each, PROFILE, lexicon=lexicon), Accepted)]
