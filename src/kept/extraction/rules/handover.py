"""Candidates that the session's agent handed over: by kept's tool, by its command, or in the last lines of a reply. A passage that
the person typed is certain. Other wording is held.

Only the assistant's own calls and replies count, not the text of tools, pages, sub-agents or hooks. A suggestion is judged when the
transcript is read. If its words are one contiguous passage that the person typed in that session, it has the person's trust,
whoever suggested it. The same holds for the option that a short answer such as "yes, option 2" chose.
"""

import json
import shlex
from collections.abc import Iterator, Sequence

from kept.core.artifact import find_artifacts
from kept.core.digest import digest
from kept.core.event import Author, Event, EventKind, Origin, ToolUse
from kept.core.fence import CAUSE, REWORDED, is_suggestion_tool
from kept.core.memory import ALLUDES, HELPFUL, PASSING, Candidate, Frame
from kept.core.pattern import Pattern
from kept.core.text import normal_form, one_line, tokenize
from kept.core.value import dataclass, replace
from kept.extraction.rules.assertion import find_unasserted_reason, is_clipped, is_disowned
from kept.extraction.rules.commands import find_output, is_shell
from kept.extraction.rules.framing import find_frame, is_announced, sets_apart
from kept.extraction.rules.passages import LEAST, LONGEST_PASSAGE, Passage, count_content_words, find_passage, widen_to_sentences
from kept.extraction.rules.patterns import LOOKBACK, build_evidence, choose_scope, compile_pattern, find_authorship_doubt
from kept.profiles.lexicons import load_lexicon, word_list
from kept.profiles.profile import Category, Profile

_COMMAND = "kept suggest"
_PASSAGE_CHARS = 2_000  # characters of a passage
_QUOTE = 400
_OPTIONS = {"--type": "kind", "--lasts": "lasts", "--alone": "alone", "--replaces": "replaces", "--project": ""}
_PASSING = frozenset(("request", "state", "idea"))  # kinds of statements that matter only for the current task
_CATEGORIES = {"rule": "constraint", "fact": "project_fact"}  # the category for a kind that has no category of the same name
_NEEDED = "needed_for"  # the only argument that is a list (of requests)
_ENDS = frozenset((";", "&&", "||", "|", "&"))
_LINE = Pattern(r"""(?:(?i:kept))\s*:\s*(?:"([^"\n]+)"|“([^”\n]+)”|„([^“”\n]+)[“”]|«\s*([^»\n]+?)\s*»|「([^」\n]+)」)\.?""")
_MARKS = "*_`> \t"
_MOST_LINES = 3  # passages that one reply can hand over
_REFUSED = ("The user doesn't want to", "Permission to use ", "[Request interrupted by user")


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """A statement that the agent handed over in the event at ``place``.

    ``quote`` are its words as the event contains them, ``kind`` its kind or category, ``replaces`` the text that it replaces.
    ``doubt`` is the reason to hold it according to the agent itself (empty: none). ``needed_for`` are the requests before which it
    should be shown.
    """

    place: int
    event: Event
    text: str
    replaces: str
    kind: str
    doubt: str
    quote: str
    is_said_clear: bool = False  # the agent says that the text can be understood alone
    needed_for: tuple[str, ...] = ()


def find_doubt(kind: str, lasts: str, alone: str) -> str:
    """The reason to hold a suggestion according to the agent's own assessment. Empty if the agent gives none, or says that the
    words last and can be understood alone.

    Annotators kept four fifths of the suggestions that agents marked as lasting (``yes``), and a quarter of those that may help
    (``maybe``). Of the lasting ones, readers wanted seven in ten lines that can be understood alone, and one in ten of the others.
    See ``docs/log.md``.
    """
    if kind in _PASSING or lasts == "no":
        return PASSING
    return HELPFUL if lasts == "maybe" else ALLUDES if alone == "no" else ""


def find_suggestions(events: Sequence[Event], start: int, stop: int) -> Iterator[Suggestion]:
    """Yield the suggestions in the events ``[start, stop)``, in order. Skips calls that the person refused."""
    assistant, response, call = Author.ASSISTANT, EventKind.RESPONSE, EventKind.TOOL_CALL
    for place in range(start, min(stop, len(events))):
        event = events[place]
        if event.author is not assistant:
            continue
        if event.kind is response and event.text:
            for words in find_reply_passages(event.text):
                yield Suggestion(place=place, event=event, text=words, replaces="", kind="", doubt="", quote=words[:_QUOTE])
        elif event.kind is call and event.tool is not None:
            given = _read_arguments(event.tool)
            if given.get("text", "").strip() and not _is_refused(events, place, stop):
                yield _build_suggestion(place, event, event.tool, given)


def find_reply_passages(reply: str) -> tuple[str, ...]:
    """The passages that the last lines of a reply hand over, each as ``kept: "exact words"``, in order."""
    passages: list[str] = []
    text = reply.rstrip()
    if "kept" not in text[text.rfind("\n") + 1 :].casefold():
        return ()  # the usual case
    for line in reversed(text.rsplit("\n", _MOST_LINES)[-_MOST_LINES:]):
        match = _LINE.fullmatch(line.strip(_MARKS)) if "kept" in line.casefold() else None
        if match is None:
            break
        passages.append(str(match[match.lastindex or 0]))
    return tuple(reversed(passages))


def _build_suggestion(place: int, event: Event, tool: ToolUse, given: dict[str, str]) -> Suggestion:
    text = given["text"][:_PASSAGE_CHARS]
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    quote = next((words for words in (text, written) if words in tool.target), tool.target)
    kind = given.get("kind") or given.get("category", "")  # older transcripts name a category instead of a kind
    return Suggestion(
        place=place,
        event=event,
        text=text,
        replaces=given.get("replaces", ""),
        kind=kind,
        doubt=find_doubt(kind, given.get("lasts", ""), given.get("alone", "")),
        quote=quote[:_QUOTE],
        is_said_clear=given.get("alone") == "yes",
        needed_for=tuple(given.get(_NEEDED, "").splitlines()),
    )


def _read_arguments(tool: ToolUse) -> dict[str, str]:
    """The arguments of a suggestion call; empty for any other call."""
    if is_suggestion_tool(tool.name):
        try:
            body = json.loads(tool.target)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(body, dict):
            return {}
        if isinstance(requests := body.get(_NEEDED), list):
            body[_NEEDED] = "\n".join(one_line(each) for each in requests if isinstance(each, str))
        return {name: value for name, value in body.items() if isinstance(value, str)}
    return _parse_suggest_command(tool.target) if _COMMAND in tool.target and is_shell(tool) else {}


def _parse_suggest_command(command: str) -> dict[str, str]:
    """The arguments of the first ``kept suggest`` in a command line."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return {}
    for at in range(len(words) - 1):
        if words[at].rsplit("/", 1)[-1] == "kept" and words[at + 1] == "suggest" and (at == 0 or words[at - 1] in _ENDS):
            return _parse_options(words[at + 2 :])
    return {}


def _parse_options(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    name = ""
    for word in words:
        option, joined, value = word.partition("=")
        if word in _ENDS:
            break
        if name:
            given[_OPTIONS[name]], name = word, ""
        elif option in _OPTIONS:
            if joined:
                given[_OPTIONS[option]] = value
            else:
                name = option
        elif not word.startswith("-"):
            given.setdefault("text", word)
    return given


def _is_refused(events: Sequence[Event], place: int, stop: int) -> bool:
    """True if the call did not run, because the person or their settings refused it."""
    call, output = events[place].tool, find_output(events[:stop], place)
    return bool(call and call.call and output and (output.label_reason.endswith("not-run") or output.text.startswith(_REFUSED)))


HandedOver = tuple[Suggestion, Passage | None, Candidate]
_BINDS = word_list("assertion", "binds") - {"no", "not", "only", "dont", "don't"}
_SURE, _UNSURE = 0.95, 0.5
_KINDS = (
    ("preference", word_list("assertion", "prefers")),
    ("decision", word_list("assertion", "decides")),
    ("constraint", word_list("assertion", "binds")),
)


def propose_handed_over(events: Sequence[Event], start: int, stop: int, *, profile: Profile, scope: str) -> tuple[Candidate, ...]:
    """The candidates handed over in the events ``[start, stop)``, in order. Also reads events before ``start``, never after
    ``stop``.
    """
    if next(find_suggestions(events, start, stop), None) is None:
        return ()
    earlier: list[HandedOver] = []
    for suggestion in find_suggestions(events, max(0, start - LOOKBACK), stop):
        found = find_passage(suggestion.text, events, max(0, start - LOOKBACK), suggestion.place, suggestion.event.session)
        passage = _complete_sentences(found) if found else None
        category = category_of(found.words if found else suggestion.text, suggestion.kind, profile)
        if category is None or _is_repeat(suggestion, passage, earlier):
            continue
        made = _build_candidate(suggestion, passage, category, profile, scope)
        if passage and not made.doubt and is_announced(events[max(0, start - LOOKBACK) : stop], passage.event):
            made = replace(made, doubt=Frame.LED, confidence=_UNSURE)
        made = _link_earlier(made, suggestion, passage, earlier)
        earlier.append((suggestion, passage, made))
    return tuple(made for suggestion, _, made in earlier if suggestion.place >= start)


def _build_candidate(
    suggestion: Suggestion, passage: Passage | None, category: Category, profile: Profile, scope: str
) -> Candidate:
    content = one_line(passage.words if passage else suggestion.text)
    event = passage.event if passage else suggestion.event
    lexicon = load_lexicon(profile.languages)
    where = choose_scope(content, category, scope, lexicon.spoken)
    doubt = _find_suggestion_doubt(passage, content) or suggestion.doubt
    agrees = lexicon.agreement and compile_pattern(lexicon.agreement).match(content)
    if agrees and not doubt and not suggestion.is_said_clear and not (passage and passage.answer):
        doubt = ALLUDES  # it answers a question that the line does not contain, and readers wanted none of twelve such lines
    trigger = CAUSE if passage else REWORDED
    evidence = [build_evidence(event, passage.words)] if passage else [build_evidence(event, suggestion.quote)]
    if passage and passage.answer:
        evidence.append(build_evidence(passage.answer, passage.answer.text.strip()))
    return Candidate(
        id=digest(profile.id, category.id, where, trigger, suggestion.event.key, content),
        profile=profile.id,
        category=category.id,
        scope=where,
        content=content,
        confidence=_UNSURE if doubt else _SURE,
        doubt=doubt,
        trigger=trigger,
        at=passage.answer.at if passage and passage.answer else event.at,
        origin=Origin.USER if passage else Origin.ASSISTANT,
        artifacts=find_artifacts(content),
        evidence=tuple(evidence),
        reasoning="the agent of the session handed it over",
        needed_for=suggestion.needed_for,
    )


def _complete_sentences(passage: Passage) -> Passage:
    """Widen a passage to whole sentences, if the rest of them may reverse its meaning. Unchanged if the person did not type the
    rest, or if the rest shows that they do not assert the passage.
    """
    text, start, end = passage.event.text, passage.start, passage.end
    if (
        not (passage.cut or is_clipped(text, start, end))
        or find_unasserted_reason(text, start, end)
        or is_disowned(text, start, end)
    ):
        return passage
    whole = widen_to_sentences(passage)
    if whole is None or len(whole.words) > LONGEST_PASSAGE or sets_apart(text[whole.start : start]):
        return passage
    return whole


def _find_suggestion_doubt(passage: Passage | None, content: str) -> str:
    """The reason to hold a suggestion; empty if it is certain."""
    if passage is None:
        return "the words are not one unbroken passage that the person typed"
    if unsure := find_authorship_doubt(passage.answer or passage.event):
        return unsure
    if passage.cut:
        return "the words just before the passage deny it"
    if count_content_words(content) < LEAST:
        return "the passage has too few words to stand by itself"
    if passage.answer:  # the agent worded the rule, and the person only chose what to do
        return "the agent worded it as a rule" if not _BINDS.isdisjoint(tokenize(content)) else ""
    text, start, end = passage.event.text, passage.start, passage.end
    return (
        find_unasserted_reason(text, start, end)
        or (Frame.PART if is_clipped(text, start, end) else find_frame(text, start, end))
        or ""
    )


def category_of(text: str, named: str, profile: Profile) -> Category | None:
    """The category for a text: the one that the agent named directly or by a kind, if the profile has it, else a likely one. None
    if the profile has neither.
    """
    words = tokenize(text)
    likely = [kind for kind, telling in _KINDS if not telling.isdisjoint(words)]
    for name in (_CATEGORIES.get(named, named), *likely, "project_fact", "constraint", "decision", "preference"):
        category = profile.category_for(name) if name else None
        if category is not None:
            return category
    return None


def _is_repeat(suggestion: Suggestion, passage: Passage | None, earlier: Sequence[HandedOver]) -> bool:
    """True if the same words, or a passage that contains them, were handed over before."""
    form = normal_form(suggestion.text)
    return any(
        _has_inner_passage(other, passage) if other and passage else normal_form(before.text) == form
        for before, other, _ in earlier
    )


def _has_inner_passage(outer: Passage, inner: Passage) -> bool:
    return outer.event.key == inner.event.key and outer.start <= inner.start and inner.end <= outer.end


def _link_earlier(made: Candidate, suggestion: Suggestion, passage: Passage | None, earlier: Sequence[HandedOver]) -> Candidate:
    """Link a candidate to the earlier candidate that it extends (``rewords``), and to the one that it replaces (``replaces``)."""
    shorter = next((before.id for _, other, before in earlier if other and passage and _has_inner_passage(passage, other)), "")
    words = normal_form(suggestion.replaces)
    gone = next((before.content for _, _, before in reversed(earlier) if words and _is_like(words, before.content)), "")
    return replace(made, rewords=shorter, replaces="" if gone == made.content else gone)


def _is_like(words: str, content: str) -> bool:
    form = normal_form(content)
    return words == form or (count_content_words(words) >= LEAST and (words in form or form in words))
