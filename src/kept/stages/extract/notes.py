"""What journals, diaries and daily notes tell: decisions, lessons, rules, open questions, people, and what an entry was about.

Reads the sections of notes line by line. A label or the heading above says what a line is; a sentence without either counts only
where it names something concrete. What is a list of things done says nothing that lasts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import re2

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Event, is_note
from kept.model.lexicon import Lexicon
from kept.model.memory import USER_SCOPE, Candidate, Evidence
from kept.model.profile import Profile
from kept.stages.extract.causes import lasting, past
from kept.stages.extract.cues import has, specific, strip_all, strip_first, strip_last
from kept.stages.extract.writing import LONGEST, finish, fit, plain

DECISION, LESSON, RULE, QUESTION, THEME, PERSON = "noted_decision", "lesson", "noted_rule", "noted_question", "theme", "person"
# A label that people put on what they read as well as on what they learnt: it takes more to make a lesson of it.
_INSIGHT = "insight"
INTENTS = (DECISION, LESSON, RULE, QUESTION, THEME, PERSON)
# From here on a line is proposed at all: an unsure line of a note is not worth anybody's time.
LEAST = 0.65
# What of one section is read: more than anybody writes under one heading.
_LINES, _CHARS = 400, 40_000
_WORDS = 5
_POINTS = 5  # of a list that is told with the sentence announcing it
_WRAPPED = 60  # characters from which a line that ends in the middle of a sentence was wrapped by an editor
_SHORT = ("e.g.", "i.e.", "vs.", "cf.")
_APART = ("|", ">", "<", "#", "```", "~~~", "**", "__")
_HEADING = re2.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_BULLET = re2.compile(r"(?s)^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(.*)$")
_CHECKBOX = re2.compile(r"^\[[ xX✓✅]\]\s*")
_LABEL = re2.compile(
    r"(?s)^(?:\*\*|__)?([^\s*_:：|`][^*_:：|`]{1,48}?)(?:(?::|：)(?:\*\*|__)?|(?:\*\*|__)(?::|：)|(?:\*\*|__)\s+[—–-])\s+(\S.*)$"
)
_BOLD_NAME = re2.compile(r"(?s)^(?:\*\*|__)([^\s*:|`][^*:|`]{1,38}?)(?:\*\*|__)\s*(?:\([^)]{1,60}\)\s*)?[—–:-]+\s+(\S.*)$")
_STEP = re2.compile(r"(?i)^(?:step|phase|part|entry|slice|task|day|session|chapter)\s*#?\d+(?:\.\d+)*\s*[:.—–-]\s*")
_STAMP = re2.compile(r"(?:^|\s)[~(]?\d{1,2}:\d\d(?::\d\d)?\)?(?:\s*(?:UTC|GMT|[AP]M))?|\b\d{4}-\d\d-\d\d\b|\(\d[^)]*\)")
_COUNTS = re2.compile(r"^\W*[\d×x+/., ]+\W|\b[0-9a-f]{7,}\b|\(#?\d{4,}\)|✅|✓|❌")
_CITED = re2.compile(r"\b(?:19|20)\d\d\)|\bet al\b|\barXiv\b|\b(?:PNAS|Nature|Science)\b|\(\p{Lu}[\p{L}-]+,? (?:19|20)\d\d")
# What a heading shouts before it says anything, and what stamps leave behind.
_SHOUTED = re2.compile(r"^(?:[^\pL\pN`\"“'(\[]+|\p{Lu}{4,}[:!]\s+)+")
_STAMPED = re2.compile(r"\s*\([^()]*\d{1,2}:\d\d[^()]*\)")
_STOP = re2.compile(r"([.!?])\s+(?:\p{Lu}|[`\"“*])")
# Words joined by hyphens name nothing by themselves.
_COMPOUND = re2.compile(r"^\p{Ll}+(?:-\p{Ll}+)*$")
_ASIDE = re2.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|\w+(?:-\w+)+|\([^()]*\)|\b(?i:that|which|who|whose|where|to)\s+\w+")
_NOTHING = re2.compile(r"(?i)^(?:n/?a|none|nothing|no (?:new|open)|not applicable|same as)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    """A line that says something: its words as they stand, what is left of them without label and marks, and what they are.

    ``labelled`` is the intent that a label in the line names, ``under`` the one the heading above does; empty for none. ``part`` says that
    a sentence before it announces it, without which it says something else.
    """

    quote: str
    words: str
    labelled: str = ""
    under: str = ""
    name: str = ""
    part: bool = False


def propose(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the notes in ``[start, stop)``, in order. Empty where the profile remembers none of them."""
    if not any(profile.category_for(each) for each in INTENTS):
        return ()
    found: dict[str, Candidate] = {}
    for event in events[start:stop]:
        if is_note(event):
            for line in islice(_lines(event.text, lexicon), _LINES):
                candidate = _candidate(event, line, profile, lexicon, scope(event.project))
                if candidate is not None:
                    found.setdefault(candidate.id, candidate)
    return tuple(found.values())


def _lines(text: str, lexicon: Lexicon) -> Iterator[_Line]:
    """The lines of a section that can say something, each with what label and heading say it is."""
    under, fenced = "", False
    whole = list(_unwrapped(text[:_CHARS].splitlines()[:_LINES]))
    for number, (raw, words, part) in enumerate(_announced(whole, lexicon)):
        if words:
            yield from () if fenced else (_Line(quote=raw.strip(), words=words, under=under),)
            continue
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading:
            under = _named(plain(heading[1][:LONGEST]), lexicon)
            if number == 0 and not under and len(heading[1]) <= LONGEST and not _STEP.match(plain(heading[1])):  # a step is over
                yield _Line(quote=heading[1], words=_title(heading[1]), labelled=THEME)
            continue
        if fenced or not line or line.startswith(("|", ">", "<")):
            continue
        bullet = _BULLET.match(raw)
        item = bullet[2].strip() if bullet else line
        if not _CHECKBOX.match(item) and not _NOTHING.match(plain(item)):
            yield from (replace(each, part=part) for each in _said(item, under, lexicon))


def _announced(lines: Sequence[str], lexicon: Lexicon) -> Iterator[tuple[str, str, bool]]:
    """The lines; a sentence that announces a short list with the list behind it, and what the two say together (else empty).

    The points of a longer list come alone, marked as part of what announces them.
    """
    place = 0
    while place < len(lines):
        points = _points(lines, place) if _announces(lines[place], lexicon) else ()
        if not points:
            yield lines[place], "", False
            place += 1
            continue
        lead, stop = _bare(lines[place]), points[-1] + 1
        said = (strip_last(lexicon.listed, plain(_bare(lines[each])).rstrip(".;, ")) for each in points)
        words = f"{plain(lead)} {'; '.join(strip_first(lexicon.joint, each) for each in said)}"
        short = (
            1 < len(points) <= _POINTS and len(words) < LONGEST and not any(_CHECKBOX.match(_bare(lines[each])) for each in points)
        )
        if short:
            yield "\n".join((lead, *(lines[each] for each in range(place + 1, stop) if lines[each].strip()))), words, False
        else:
            yield from ((lines[each], "", True) for each in points)
        place = stop


def _announces(line: str, lexicon: Lexicon) -> bool:
    """Whether a line is a sentence that goes on in the list below it, rather than the name of that list."""
    words = _bare(line).rstrip("*_ ")
    named = _named(plain(words).rstrip(":："), lexicon) or _HEADING.match(line.strip()) or len(words.split()) < _WORDS
    return words.endswith((":", "：")) and not named and not line.strip().startswith(_APART[:6])


def _points(lines: Sequence[str], lead: int) -> tuple[int, ...]:
    """Where the points of the list are that the line at ``lead`` announces."""
    head, found = _BULLET.match(lines[lead]), []
    for place in range(lead + 1, len(lines)):
        point = _BULLET.match(lines[place])
        if point and (head is None or len(point[1]) > len(head[1])):
            found.append(place)
        elif lines[place].strip():
            break
    return tuple(found)


def _bare(line: str) -> str:
    """A line without the mark of a list before it."""
    bullet = _BULLET.match(line)
    return (bullet[2] if bullet else line).strip()


def _unwrapped(lines: Sequence[str]) -> Iterator[str]:
    """The lines, those that only go on with the one before put behind it: what an editor wrapped is one line again."""
    whole, fenced = "", False
    for raw in lines:
        fence = raw.strip().startswith(("```", "~~~"))
        if not fenced and not fence and _goes_on(whole, raw):
            whole = f"{whole}\n{raw.rstrip()}"
            continue
        if whole:
            yield whole
        fenced ^= fence
        whole = "" if fenced or fence else raw
        if not whole:
            yield raw
    if whole:
        yield whole


def _goes_on(before: str, raw: str) -> bool:
    """Whether a line goes on with the one before: it stands under an item's words, or a long line before it broke off."""
    line, last = raw.strip(), before.rpartition("\n")[2]
    if not line or not before.strip() or line.startswith(_APART) or _BULLET.match(raw) or _HEADING.match(before.strip()):
        return False
    if _BULLET.match(before.split("\n", 1)[0]):
        return raw.startswith("  ")
    broken = (
        len(last) >= _WRAPPED and not before.strip().startswith(_APART) and not last.rstrip().endswith((".", "!", "?", ":", ";"))
    )
    return broken and _LABEL.match(line) is None and (line[0].islower() or line[0] in "`(\"'")


def _said(item: str, under: str, lexicon: Lexicon) -> Iterator[_Line]:
    name = _BOLD_NAME.match(item) if under == PERSON else None
    if under == PERSON and not name:
        return
    if name:
        yield _Line(quote=item, words=plain(f"{name[1]}: {name[2]}"), under=PERSON, name=name[1].strip(" @"))
        return
    label = _LABEL.match(item)
    meant = _named(label[1], lexicon) if label else ""
    if label and meant and meant != PERSON:
        yield _Line(quote=label[2], words=plain(label[2]), labelled=meant, under=under)
        return
    for sentence in _sentences(item):
        yield _Line(quote=sentence, words=plain(sentence), under=under)


def _sentences(text: str) -> Iterator[str]:
    at = 0
    for stop in _STOP.finditer(text):
        if text[: stop.start() + 1].endswith(_SHORT):
            continue
        yield text[at : stop.start() + 1].strip()
        at = stop.start() + 1
    yield text[at:].strip()


def _named(words: str, lexicon: Lexicon) -> str:
    """The intent that a label or heading names; empty for any other."""
    cues = (
        (lexicon.noted_rule, RULE),
        (lexicon.noted_question, QUESTION),
        (lexicon.noted_decision, DECISION),
        (lexicon.lesson, LESSON),
        (lexicon.insight, _INSIGHT),
        (lexicon.people_noted, PERSON),
    )
    return next((intent for cue, intent in cues if has(cue, words.strip()) and len(words.split()) <= 6), "")


def _title(heading: str) -> str:
    """A heading without its number, its time and its marks."""
    bare = _STAMPED.sub(" ", _STEP.sub("", plain(heading)))
    return str(_SHOUTED.sub("", " ".join(str(_STAMP.sub(" ", bare)).split()))).strip(" -–—:·|!")


def _candidate(event: Event, line: _Line, profile: Profile, lexicon: Lexicon, scope: str) -> Candidate | None:
    content = fit(finish(line.words)) if len(line.words) > LONGEST or line.labelled != THEME else finish(line.words).rstrip(".")
    intent, sure, signals = _judged(line, content, lexicon)
    category = profile.category_for(intent) if intent else None
    if category is None or sure < LEAST:
        return None
    where = USER_SCOPE if category.user_wide else scope
    content = f"{content.rstrip('.')}?" if intent == QUESTION and line.words.endswith("?") else content
    evidence = Evidence(
        quote=line.quote[:400], event=event.key, session=event.session, path=event.pointer.path, at=event.at,
        author=event.author.value, origin=event.origin,
    )  # fmt: skip
    return Candidate(
        id=digest(profile.id, intent, where, intent, event.key, content), profile=profile.id, category=intent, scope=where,
        content=content, confidence=sure, trigger=intent, at=event.at, origin=event.origin, artifacts=artifacts(content),
        evidence=(evidence,), reasoning=", ".join(signals), subject=line.name,
    )  # fmt: skip


def _only_done(line: _Line, content: str, lexicon: Lexicon) -> bool:
    """Whether a line only reports a step that was taken: it names no reason and no alternative, and nothing calls it a decision."""
    decided = DECISION in (line.labelled, line.under)
    teaches = line.labelled == LESSON or line.under in (LESSON, _INSIGHT)
    # What a step was taken for ("to match …") is no cause that teaches anything.
    told = str(_ASIDE.sub(" ", content)) if teaches else content
    return has(lexicon.finished, content) and not decided and not has(lexicon.reason, told) and not has(lexicon.versus, content)


def _only_judges(content: str, lexicon: Lexicon) -> bool:
    """Whether a line calls something the best, or right, without saying why or over what."""
    return has(lexicon.judges, content) and not has(lexicon.reason, content) and not has(lexicon.weighs, content)


def _verbless(content: str, lexicon: Lexicon) -> bool:
    """Whether a line is the name of something rather than a sentence: outside of code, brackets and relative clauses it has no verb.

    Told only where one language is spoken, for there all verbs are that language's.
    """
    return bool(lexicon.predicate) and len(lexicon.languages) == 1 and not has(lexicon.predicate, str(_ASIDE.sub(" ", content)))


def _judged(line: _Line, content: str, lexicon: Lexicon) -> tuple[str, float, list[str]]:
    """What a line is, how sure that is, and why."""
    if line.labelled == THEME:
        title = content.rstrip(".")
        fits = len(title.split()) >= 3 and not has(lexicon.generic, title) and not _COUNTS.search(title)
        names = specific(title, lexicon)
        return (THEME, 0.8 if names else 0.65, ["a heading", *(["names something"] if names else [])]) if fits else ("", 0.0, [])
    words = len(content.split())
    if not content or words < _WORDS or _COUNTS.search(content) or has(lexicon.memory_talk, content):
        return "", 0.0, []
    names = any(f"`{each}`" in content or not _COMPOUND.match(each) for each in artifacts(content))
    signals, sure = [], 0.5
    firm = names or any(
        has(cue, content) for cue in (lexicon.learnt, lexicon.constraint, lexicon.imperative, lexicon.chose, lexicon.ruled)
    )
    firm = firm or bool(line.name) or content.endswith("?")
    inside = next(
        (
            intent
            for cue, intent in ((lexicon.ruled, RULE), (lexicon.chose, DECISION), (lexicon.learnt, LESSON))
            if has(cue, content)
        ),
        "",
    )
    said = line.labelled or line.under
    soft = said == _INSIGHT
    intent = LESSON if soft else said or inside
    for holds, weight, told in (
        (bool(line.labelled) and not soft, 0.25 if firm else 0.12, "a label says so"),
        (bool(line.under) and not soft, 0.2 if firm else 0.12, "its heading says so"),
        (intent == QUESTION and not line.words.endswith("?"), -0.2, "asks nothing"),
        (soft, 0.05, "it is called an insight"),
        (inside == intent != "", 0.15, "its words say so"),
        (names, 0.1, "names something"),
        (bool(has(lexicon.actionable, content)) and bool(said), 0.05, "says what to do"),
        (any(content.count(opened) != content.count(closed) for opened, closed in ("()", "“”")), -0.3, "a part is missing"),
        (intent == LESSON and not lasting(content), -0.1, "told of its time"),
        (
            intent == LESSON and (has(lexicon.of_its_time, content) or past(content)),
            -0.15 if lasting(content) else -0.1,
            "of one step",
        ),
        (
            (intent == LESSON or (intent == RULE and not (has(lexicon.constraint, content) or has(lexicon.rule_start, content))))
            and _verbless(content, lexicon),
            -0.3,
            "no whole sentence",
        ),
        (intent == LESSON and has(lexicon.hedge, content), -0.3, "a guess"),
        (intent == LESSON and has(lexicon.infers, content), -0.3, "a step of a search"),
        (
            intent == LESSON and _only_judges(content, lexicon),
            -0.1,
            "a judgement without a reason",
        ),
        (line.part or content.endswith(":"), -0.3, "a part of something"),
        (content.startswith(('"', "“", "‘")), -0.3, "a quotation"),
        (bool(_CITED.search(content)), -0.3, "a citation"),
        (bool(has(lexicon.report, content)) and not names, -0.2, "a report"),
        (_only_done(line, content, lexicon), -0.4, "work done"),
        (bool(has(lexicon.dangling, strip_all(lexicon.anchored, content))), -0.3, "does not stand alone"),
        (bool(line.name), 0.1, "tells of somebody by name"),
        (bool(has(lexicon.deictic, content)), -0.2, "points outside"),
        (bool(has(lexicon.transient, content)), -0.15, "of the moment"),
        (words > 60, -0.2, "long"),
        (content.endswith("?") and intent != QUESTION, -0.5, "a question"),
    ):
        if holds:
            sure += weight
            signals.append(told)
    return intent, round(min(0.9, max(0.0, sure)), 2), signals
