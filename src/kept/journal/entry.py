"""Journal entries: their data types, their templates, and their files.

A template is Markdown with ``{{slots}}``, either built in or the user's own. Its front matter may have ``span`` (day or week),
``extract`` (yes or no) and ``instruction`` (what kind of text a model should write). An entry is front matter, then the filled
template. Memories and content from external sources are put between markers. Nothing is extracted from marked blocks.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from hashlib import blake2b
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from kept.core.errors import ConfigError, UsageError
from kept.core.pattern import Pattern
from kept.core.sentences import sentence_texts
from kept.core.text import one_line
from kept.core.value import dataclass, field

EXTRACTIVE = "extractive"  # the writer named in an entry that no language model wrote


class Slot(StrEnum):
    """The parts of an entry. The values are the names of the placeholders in templates."""

    WORKED = "worked"
    SOLVED = "solved"
    DECIDED = "decided"
    LEARNT = "learnt"
    OPEN = "open"
    COMMITS = "commits"
    FILES = "files"
    OUTSIDE = "outside"
    BEFORE = "before"


class TrustLevel(StrEnum):
    """Where an item comes from, which decides how far it is trusted: a session, an existing memory, or an external source."""

    SESSION = "sessions"
    MEMORY = "memory"
    OUTSIDE = "outside"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedItem:
    """An item of an external source. All fields are untrusted text of one line.

    ``key`` is the same each time the source delivers the item. ``source`` is the name of the feed.
    """

    key: str
    source: str
    title: str
    text: str = ""
    at: datetime | None = None
    link: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextItem:
    """An item that an entry may use: its text, origin and weight.

    ``reference`` is the id of a memory or the key of a feed item. ``day`` is the item's day if that is not a day of the entry.
    ``kind`` is the kind of a memory ("decided", "still open") or of earlier work ("last worked on").
    """

    slot: Slot
    text: str
    grade: TrustLevel = TrustLevel.SESSION
    source: str = TrustLevel.SESSION.value
    reference: str = ""
    day: date | None = None
    scope: str = ""
    weight: float = 1.0
    kind: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryHead:
    """The front matter of an entry.

    ``shares`` maps each source to its share of the inputs (sum 1). ``memories`` has the ids of the memories used.
    ``self_reference`` is the share (0 to 1) of sentences about the memory system itself. ``tokens`` (in, out) is an estimate from
    the length of the text. ``inputs`` is a hash of the inputs. ``digest`` is a hash of the file as kept wrote it, without this
    field.
    """

    first: date
    last: date
    template: str
    writer: str
    extract: bool
    sessions: int
    shares: Mapping[str, float] = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    self_reference: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    inputs: str = ""
    digest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A form of entry. ``text`` is Markdown with a ``{{slot}}`` placeholder for each part.

    ``span`` is ``day`` or ``week``. ``extract`` means that memories are extracted from entries of this form. ``instruction`` tells
    a model what kind of text to write.
    """

    name: str
    text: str
    span: str = "day"
    extract: bool = False
    instruction: str = ""


_ITEM = Pattern(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def entry_sentences(text: str) -> tuple[str, ...]:
    """The sentences in the body of an entry. Headings, quotations and comments are omitted."""
    lines = [_ITEM.sub("", line) for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ">", "<!--"))]
    return tuple(sentence for line in lines for sentence in sentence_texts(line))


def self_reference_share(text: str, machinery: str) -> float:
    """The share (0 to 1) of an entry's sentences that are about kept itself; 0 for an empty text.

    ``machinery`` is an RE2 pattern that matches words about kept.
    """
    pattern = Pattern(machinery)
    found = entry_sentences(text)
    return round(sum(pattern.search(item) is not None for item in found) / len(found), 4) if found else 0.0


OURS, OURS_END = "<!-- kept:begin remembered -->", "<!-- kept:end -->"
OUTSIDE, OUTSIDE_END = "<!-- outside:begin -->", "<!-- outside:end -->"
_MARKS = {TrustLevel.SESSION: ((), ()), TrustLevel.MEMORY: ((OURS,), (OURS_END,)), TrustLevel.OUTSIDE: ((OUTSIDE,), (OUTSIDE_END,))}
_SLOT = Pattern(r"\{\{\s*([a-z]+)\s*\}\}")
_LINE_CHARS = 1_200
_ESCAPED = (("<!--", "‹!--"), ("-->", "--›"), ("```", "'''"))


def template_slots(template: Template) -> tuple[Slot, ...]:
    """The slots of a template, in order, each once."""
    named = {slot.value: slot for slot in Slot}
    return tuple(dict.fromkeys(named[name] for name in _SLOT.findall(template.text) if name in named))


def render_entry(
    head: EntryHead,
    template: Template,
    items: Sequence[ContextItem],
    names: Mapping[str, str],
    links: Mapping[date, str] = MappingProxyType({}),
) -> str:
    """Render an entry with its digest.

    ``names`` maps scopes to display names, ``links`` days to the paths of other days' entries.
    """
    body = _fill_template(head, template, items, names, links)
    return update_digest("\n".join((*_front_matter_lines(head), body)))


def _fill_template(
    head: EntryHead, template: Template, items: Sequence[ContextItem], names: Mapping[str, str], links: Mapping[date, str]
) -> str:
    blocks = {slot: _slot_lines(slot, [item for item in items if item.slot is slot], names, links) for slot in Slot}
    span = head.first.isoformat() if head.first == head.last else f"{head.first.isoformat()} to {head.last.isoformat()}"
    lines: list[str] = []
    for raw in template.text.splitlines():
        found = _SLOT.fullmatch(raw.strip())
        if found and found[1] in {slot.value for slot in Slot}:
            _fill_slot(lines, blocks[Slot(found[1])])
        else:
            lines.append(raw.replace("{{date}}", span).replace("{{writer}}", _format_writer(head)).rstrip())
    spaced = [line for line, before in zip(lines, ("", *lines), strict=False) if line or before]
    return "\n".join(spaced).rstrip("\n") + "\n"


def _format_writer(head: EntryHead) -> str:
    if head.writer == EXTRACTIVE:
        return "Put together by kept from what was said and done, without a language model; the words are those used then."
    return f"Written by {head.writer} from what was said and done; every paragraph was checked against its sources."


def _fill_slot(lines: list[str], block: Sequence[str]) -> None:
    """Append the lines of a part. If the part is empty, remove the heading above it."""
    if block:
        if block[0] == OURS:
            _drop_blank_end(lines)  # the extractor drops the heading of a marked block only if it is directly above the block
        lines.extend(block)
        return
    _drop_blank_end(lines)
    if lines and lines[-1].startswith("## "):
        lines.pop()
        _drop_blank_end(lines)
    lines.append("")


def _drop_blank_end(lines: list[str]) -> None:
    while lines and not lines[-1]:
        lines.pop()


def _slot_lines(slot: Slot, items: Sequence[ContextItem], names: Mapping[str, str], links: Mapping[date, str]) -> list[str]:
    """The lines of a part. There is a heading for each project if there are several, and for each project of ``WORKED``.

    Memories and content from external sources are between markers.
    """
    scopes = list(dict.fromkeys(item.scope for item in items))
    lines: list[str] = []
    for scope in scopes:
        within = [item for item in items if item.scope == scope]
        if scope and (len(scopes) > 1 or slot is Slot.WORKED):
            lines.append(f"### {clean_line(names.get(scope, scope))}")
        for grade, run in groupby(within, key=lambda passage: passage.grade):
            begin, end = ((), ()) if slot is Slot.BEFORE else _MARKS[grade]
            lines += [*begin, *(_format_item(item, links) for item in run), *end]
    return [OURS, *lines, OURS_END] if lines and slot is Slot.BEFORE else lines


def _format_item(item: ContextItem, links: Mapping[date, str]) -> str:
    words = clean_line(item.text)
    if item.grade is TrustLevel.MEMORY and item.day is not None and item.reference:
        day = item.day.isoformat()
        return f"- {words} ({f'[{day}]({links[item.day]})' if item.day in links else day}, {item.reference})"
    if item.grade is TrustLevel.OUTSIDE and item.slot is Slot.OUTSIDE and item.source:
        return f"- {clean_line(item.source)}: {words}"
    return f"- {words}"


def clean_line(text: str) -> str:
    """The text as one line of at most ``_LINE_CHARS`` characters.

    Characters that would end a block or begin a heading, bullet or quotation are replaced or removed.
    """
    words = one_line(text)
    for mark, other in _ESCAPED:
        words = words.replace(mark, other)
    bare = words.lstrip("#>-+ ") or words
    words = bare if bare.startswith("**") else bare.lstrip("* ") or words
    return words if len(words) <= _LINE_CHARS else words[:_LINE_CHARS].rsplit(" ", 1)[0] + "…"


def _front_matter_lines(head: EntryHead) -> list[str]:
    shares = ", ".join(f'"{_front_matter_text(name)} {share:.0%}"' for name, share in head.shares.items())
    return [
        "---",
        f"date: {head.first.isoformat()}",
        *([f"until: {head.last.isoformat()}"] if head.last != head.first else []),
        f"template: {_front_matter_text(head.template)}",
        "generated_by: kept",
        f'writer: "{_front_matter_text(head.writer)}"',
        f"extract: {'yes' if head.extract else 'no'}",
        f"sessions: {head.sessions}",
        f"sources: [{shares}]",
        f"memories: [{', '.join(head.memories)}]",
        f"self_reference: {head.self_reference:.4f}",
        f'cost: "{head.tokens[0]} tokens in, {head.tokens[1]} out"',
        f"inputs: {head.inputs}",
        f"digest: {head.digest}",
        "---",
    ]


def _front_matter_text(text: str) -> str:
    return "".join(item for item in one_line(text) if item not in '"\\')[:80]


_FIELD = Pattern(r"^([a-z_]+): (.*)$")
_SHARE = Pattern(r'"([^"]*) (\d+)%"')
_COST = Pattern(r"(\d+) tokens in, (\d+) out")


def parse_entry_head(text: str) -> EntryHead | None:
    """Parse the front matter of an entry. None if kept did not write the text or the front matter is invalid. Never raises."""
    front, _ = _split_front_matter(text)
    if front.get("generated_by") != "kept":
        return None
    try:
        first = date.fromisoformat(front.get("date", ""))
        tokens = _COST.search(front.get("cost", ""))
        return EntryHead(
            first=first,
            last=date.fromisoformat(front.get("until", front["date"])),
            template=front.get("template", ""),
            writer=front.get("writer", "").strip('"'),
            extract=front.get("extract") == "yes",
            sessions=int(front.get("sessions", "0")),
            shares={name: int(share) / 100 for name, share in _SHARE.findall(front.get("sources", ""))},
            memories=tuple(part.strip() for part in front.get("memories", "").strip("[]").split(",") if part.strip()),
            self_reference=float(front.get("self_reference", "0")),
            tokens=(int(tokens[1]), int(tokens[2])) if tokens else (0, 0),
            inputs=front.get("inputs", ""),
            digest=front.get("digest", ""),
        )
    except ValueError:
        return None


def is_entry_edited(text: str) -> bool:
    """True if somebody changed the entry after kept wrote it."""
    return _split_front_matter(text)[0].get("digest") != _compute_digest(text)


def update_digest(text: str) -> str:
    """Return an entry with a newly computed digest."""
    return _set_digest(text, _compute_digest(text))


def _compute_digest(text: str) -> str:
    return blake2b(_set_digest(text, "").encode(), digest_size=8).hexdigest()


def _set_digest(text: str, digest: str) -> str:
    rest = entry_body(text)
    front = text[: len(text) - len(rest)].split("\n")
    return "\n".join(f"digest: {digest}" if line.startswith("digest: ") else line for line in front) + rest


def entry_body(text: str) -> str:
    """An entry without its front matter."""
    return _split_front_matter(text)[1]


def _split_front_matter(text: str) -> tuple[dict[str, str], str]:
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        return {}, text
    end = lines.index("---", 1)
    fields = {found[1]: found[2] for line in lines[1:end] if (found := _FIELD.match(line))}
    return fields, "\n".join(lines[end + 1 :])


_BUILT_IN = files("kept.journal") / "templates"
_TEMPLATE_CHARS = 100_000
_KNOWN = frozenset({"span", "extract", "instruction"})


def list_templates(config: Path) -> tuple[str, ...]:
    """The names of all templates. ``config`` is the folder of the user's settings."""
    own = (path.stem for path in (config / "templates").glob("*.md"))
    built_in = (file.name.removesuffix(".md") for file in _BUILT_IN.iterdir() if file.name.endswith(".md"))
    return tuple(sorted({*own, *built_in}))


def load_template(name: str, config: Path) -> Template:
    """Load a template by its name. A template of the user's takes precedence over a built-in one.

    ``config`` is the settings folder. Raises UsageError if there is none, and ConfigError if it cannot be read.
    """
    known = list_templates(config)
    if name not in known:
        raise UsageError(
            f"there is no template {name!r}", hint=f"templates: {', '.join(known)}; your own are in {config / 'templates'}"
        )
    own = config / "templates" / f"{name}.md"
    try:
        text = own.read_text("utf-8") if own.is_file() else (_BUILT_IN / f"{name}.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the template cannot be read: {error}", where=str(own)) from error
    return _parse_template(name, text, str(own))


def _parse_template(name: str, text: str, where: str) -> Template:
    if len(text) > _TEMPLATE_CHARS:
        raise ConfigError(f"the template has more than {_TEMPLATE_CHARS:,} characters", where=where)
    lines = text.splitlines()
    values: dict[str, str] = {}
    if lines and lines[0].strip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
        if end is None:
            raise ConfigError("the front matter of the template has no end", where=where, hint="close it with ---")
        for line in lines[1:end]:
            key, colon, value = line.partition(":")
            if line.strip() and (not colon or key.strip() not in _KNOWN):
                raise ConfigError(f"unknown setting {key.strip()!r}", where=where, hint=f"settings: {', '.join(sorted(_KNOWN))}")
            values[key.strip()] = value.strip().strip('"')
        lines = lines[end + 1 :]
    span, extract = values.get("span", "day"), values.get("extract", "no")
    if span not in ("day", "week") or extract not in ("yes", "no"):
        raise ConfigError("span is day or week, extract is yes or no", where=where)
    known = ("date", "writer", *(slot.value for slot in Slot))
    if unknown := next((slot for slot in _SLOT.findall("\n".join(lines)) if slot not in known), ""):
        raise ConfigError(f"unknown slot {{{{{unknown}}}}}", where=where, hint=f"slots: {', '.join(known)}")
    return Template(
        name=name, text="\n".join(lines).strip("\n"), span=span, extract=extract == "yes", instruction=values.get("instruction", "")
    )
