"""What a person's prompts teach: rules, corrections, decisions, conventions, preferences, facts, goals; each as a candidate with evidence.

Reads the person's own words sentence by sentence, together with the assistant's turn they answer. Knows nothing of tools, errors and
fixes, and nothing of what happens to a candidate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from kept.model.artifact import artifacts
from kept.model.codec import digest
from kept.model.event import Event, Origin
from kept.model.lexicon import Lexicon
from kept.model.memory import USER_SCOPE, Candidate, Evidence
from kept.model.profile import Profile
from kept.model.text import likeness, tokens
from kept.stages.extract.cues import has, places, specific, strip_first
from kept.stages.extract.picks import pick
from kept.stages.extract.prose import Passage, Voice, passages
from kept.stages.extract.sentences import Span, sentences
from kept.stages.extract.signals import Reading, Setting, read
from kept.stages.extract.view import Before, before, granted, is_prompt, referent
from kept.stages.extract.writing import LONGEST, finish, fit, join, plain, write

# Below this a sentence is not even proposed: it would only fill the review.
LEAST = 0.5
# A prompt that taught more than this was a document.
MOST = 4
# The sentences of a prompt that are read: more than anybody types.
SENTENCES = 200
_QUOTE = 400
_READ = 8_000


@dataclass(frozen=True, kw_only=True, slots=True)
class _Turn:
    """A prompt that is being read: its event, what it looks back on, and by whose rules."""

    event: Event
    seen: Before
    profile: Profile
    lexicon: Lexicon
    scope: str
    granted: bool
    mending: bool
    tasked: bool


def propose(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the prompts in ``[start, stop)``, in order."""
    found: list[Candidate] = []
    for index in range(start, stop):
        if is_prompt(events[index]):
            seen = before(events, start, index)
            place = scope(events[index].project)
            found += _of_prompt(
                _Turn(
                    event=events[index],
                    seen=seen,
                    profile=profile,
                    lexicon=lexicon,
                    scope=place,
                    granted=granted(events, index, stop, lexicon),
                    tasked=has(lexicon.task, strip_first(lexicon.request, events[index].text[:200].lstrip())),
                    mending=has(lexicon.defect, events[index].text[:_READ]),
                )
            )
    return tuple(found)


def _of_prompt(turn: _Turn) -> list[Candidate]:
    answered = _of_answer(turn)
    # What an answer says in its first paragraph is part of what it agrees to.
    said = [
        each
        for each in _of_words(turn)
        if answered is None or each.evidence[0].quote not in turn.event.text.strip().split("\n\n", 1)[0]
    ]
    best = sorted(said, key=lambda each: -each.confidence)[:MOST]
    return ([answered] if answered else []) + [each for each in said if each in best]


def _of_words(turn: _Turn) -> list[Candidate]:
    """The candidates of a prompt's own sentences, a sentence that leans on its neighbour taken together with it."""
    spoken = _spoken(turn.event.text, turn.seen, turn.lexicon)
    readings = [_read(turn, said) for said in spoken]
    found: list[Candidate] = []
    used: set[int] = set()
    for place, reading in enumerate(readings):
        if place in used or not reading.category:
            continue
        group, sure = _group(turn, spoken, readings, place)
        if sure < LEAST or turn.profile.category(reading.category) is None:
            continue
        used.update(group)
        lead = max((readings[each] for each in group if readings[each].category), key=lambda each: each.confidence)
        candidate = _candidate(turn, [spoken[each] for each in group], lead, sure)
        if candidate is not None:
            found.append(candidate)
    return found


def _spoken(text: str, seen: Before, lexicon: Lexicon) -> list[tuple[Passage, Span]]:
    """The sentences of a prompt that are the person's own or reported by them, without what repeats the assistant's words."""
    replies = " ".join(plain(event.text[-8_000:]).casefold() for event in seen.replies[:3])
    own = [passage for passage in passages(text, lexicon) if passage.voice is not Voice.FOREIGN]
    said = (
        (passage, span)
        for passage, lists in _with_lists(text, own)
        for span in sentences(text, passage.start, passage.end, lists=lists)
        if (not span.aside or has(lexicon.person, text[span.start : span.start + 8]))
        and not _repeats(text[span.start : span.end], replies)
    )
    return list(islice(said, SENTENCES))


def _with_lists(text: str, own: list[Passage]) -> list[tuple[Passage, bool]]:
    """The passages, each with whether it is a short list and the sentence that announces it (then taken together as one passage)."""
    joined: list[tuple[Passage, bool]] = []
    for passage in own:
        last = joined[-1][0] if joined else passage
        announced = (
            bool(joined)
            and text[last.start : last.end].rstrip().endswith((":", "："))
            and not text[last.end : passage.start].strip()
        )
        if announced and passage.end - last.start < 500 and _is_list(text[passage.start : passage.end]):
            joined[-1] = (replace(last, end=passage.end), True)
        else:
            head, _, rest = text[passage.start : passage.end].partition("\n")
            joined.append((passage, head.rstrip().endswith((":", "：")) and _is_list(rest) and passage.end - passage.start < 500))
    return joined


def _is_list(text: str) -> bool:
    lines = text.strip().splitlines()
    return 2 <= len(lines) <= 6 and all(0 < len(line.split()) <= 14 and "?" not in line for line in lines)


def _repeats(sentence: str, replies: str) -> bool:
    words = plain(sentence).casefold().strip(" .!?\"'“”")
    return len(words.split()) >= 6 and words in replies


def _read(turn: _Turn, said: tuple[Passage, Span]) -> Reading:
    passage, span = said
    words = turn.event.text[span.start : span.end]
    setting = Setting(
        answers=bool(turn.seen.replies),
        reported=passage.voice is Voice.REPORTED,
        aside=span.aside,
        item=span.bullet,
        mending=turn.mending,
        tasked=turn.tasked and span.start > len(turn.event.text) - len(turn.event.text.lstrip()),
        granted=turn.granted,
    )
    reading = read(words, turn.lexicon, setting)
    # Whether it was said before is asked only of what says something: it costs the most.
    again = bool(reading.category) and _said_before(words, turn.seen)
    return read(words, turn.lexicon, replace(setting, again=True)) if again else reading


def _said_before(words: str, seen: Before) -> bool:
    """Whether two earlier prompts, or one that names the same artifact, said much the same."""
    mine, names = tokens(words), set(artifacts(words))
    like = 0
    for event in seen.asked[:40]:
        if len(event.text) > 800 or len(mine) < 4:
            continue
        shared = likeness(mine, tokens(event.text))
        like += 2 if shared >= 0.25 and names & set(artifacts(event.text)) else shared >= 0.4
    return like >= 2


def _group(turn: _Turn, spoken: list[tuple[Passage, Span]], readings: list[Reading], place: int) -> tuple[list[int], float]:
    """The sentences that make one statement with the one at ``place``, and the confidence of the whole."""
    text, (passage, span) = turn.event.text, spoken[place]
    group, sure = [place], readings[place].confidence
    signals = readings[place].signals
    # What is asked may be granted later: it must not change what stands beside it.
    if span.aside or "asks" in signals:
        return group, sure
    near = [at for at in (place - 1, place + 1) if 0 <= at < len(spoken) and spoken[at][0] == passage and not spoken[at][1].aside]
    back = "points outside" in signals or has(turn.lexicon.pointer, text[span.start : span.end])
    if place - 1 in near and back and readings[place - 1].category and not _ends_the_matter(readings[place - 1]):
        group.insert(0, place - 1)
        sure += 0.2 if "points outside" in signals else 0.0
    if place + 1 in near:
        follower = readings[place + 1]
        terse = "short" in signals and bool(follower.category)
        bracketed = text[spoken[place + 1][1].start] == "("
        if (terse or bracketed or "points outside" in follower.signals) and not _ends_the_matter(follower):
            group.append(place + 1)
            sure = max(sure, follower.confidence) if terse or bracketed else sure
    return group, round(min(0.95, sure), 2)


def _ends_the_matter(reading: Reading) -> bool:
    return bool(
        {"asks", "question", "chatter", "about the agent", "step of the task", "of the moment", "report"} & set(reading.signals)
    )


def _candidate(turn: _Turn, said: list[tuple[Passage, Span]], reading: Reading, sure: float) -> Candidate | None:
    event, seen, profile, lexicon = turn.event, turn.seen, turn.profile, turn.lexicon
    raw = [event.text[span.start : span.end] for _, span in said]
    # A lone "No!" or a reproach before the rule says nothing itself.
    raw = [
        words for words in raw if len(raw) == 1 or (strip_first(lexicon.opener, words) and (" " in words or not words.isascii()))
    ]
    if not raw:
        return None
    content = write(raw[0], lexicon)
    for words in raw[1:]:
        more = write(words, lexicon)
        content = join(content.rstrip("."), f"({more.rstrip('.')}).") if words.startswith("(") else join(content, more)
    content = fit(content)
    if not content:
        return None
    if has(lexicon.profanity, content) and len(raw) > 1:
        return None
    signals, evidence = list(reading.signals), [_evidence(event, words) for words in raw]
    kind = profile.category(reading.category)
    back = has(lexicon.pointer, content) and not artifacts(content)
    vague = kind is not None and kind.specific and (back or not specific(content, lexicon))
    about = referent(content, seen, points_back=back) if vague else ""
    if about and len(content) + len(about) + 12 <= LONGEST:
        pointed = places(lexicon.pointer, content)
        if pointed:
            low, high = pointed[0]
            content = f"{content[:low]}`{about}`{content[high:]}"
        else:
            content = finish(f"{content.rstrip('.')} ({lexicon.phrase('about')} `{about}`)")
        signals.append("named from the turn before")
        evidence += _naming(about, seen)
    return _made(turn, (reading.category, reading.trigger), content, sure=sure, evidence=evidence, signals=signals)


def _of_answer(turn: _Turn) -> Candidate | None:
    """The decision an answer makes, in the words of the assistant's proposal with the question it settles."""
    event, seen, lexicon = turn.event, turn.seen, turn.lexicon
    replies = (*seen.replies, *seen.older)
    texts = [reply.text[-_READ:] for reply in replies]
    said = _evidence(event, event.text.strip())
    chosen = pick(event.text, texts, lexicon)
    if chosen is None or not chosen.content:
        return None
    evidence = [said, _evidence(_holder(replies, chosen.quote), chosen.quote)]
    content = chosen.content
    question, asked = _question(seen, lexicon)
    if asked and not _names_any(question, content, lexicon):
        content = finish(f"{content.rstrip('.')} ({lexicon.phrase('question')}: {question})")
        evidence.append(asked)
    sure = 0.75 if chosen.sure else 0.55
    return _made(
        turn,
        ("decision", "agreement"),
        content,
        sure=sure,
        evidence=evidence,
        signals=["agrees to the assistant's proposal"],
    )


def _holder(replies: Sequence[Event], quote: str) -> Event:
    """The reply that holds a quote taken from one of them."""
    return next(reply for reply in replies if quote in reply.text)


def _names_any(question: str, content: str, lexicon: Lexicon) -> bool:
    """Whether the content has any of the telling words of a question, in whatever form."""
    telling = (word for word in tokens(question) if len(word) > 4 and not has(lexicon.question, word))
    return any(word[:4] in content.casefold() for word in telling)


def _question(seen: Before, lexicon: Lexicon) -> tuple[str, Evidence | None]:
    """The question of the person's last prompt, without its mark; empty where it asks none that is short."""
    for event in seen.asked[:1]:
        for passage in passages(event.text, lexicon):
            for span in sentences(event.text, passage.start, passage.end) if passage.voice is Voice.OWN else ():
                words = event.text[span.start : span.end]
                if (
                    words.endswith("?")
                    and not has(lexicon.request, words)
                    and 4 <= len(words.split()) <= 20
                    and not has(lexicon.profanity, words)
                ):
                    return plain(words).rstrip("? "), _evidence(event, words)
    return "", None


def _naming(name: str, seen: Before) -> list[Evidence]:
    """The assistant's words that name an artifact, where it was a message that did."""
    for event in seen.replies:
        at = event.text.find(name)
        if at >= 0:
            low = event.text.rfind("\n", 0, at) + 1
            high = event.text.find("\n", at)
            low = max(low, at - 200)
            return [_evidence(event, event.text[low : high if 0 <= high <= low + _QUOTE else low + _QUOTE].strip())]
    return []


def _evidence(event: Event, quote: str) -> Evidence:
    return Evidence(
        quote=quote[:_QUOTE],
        event=event.key,
        session=event.session,
        path=event.pointer.path,
        at=event.at,
        author=event.author.value,
        origin=event.origin,
    )


def _made(
    turn: _Turn, kind: tuple[str, str], content: str, *, sure: float, evidence: Sequence[Evidence], signals: Sequence[str]
) -> Candidate | None:
    """The candidate of a category and a trigger; None where the profile has no such category."""
    (name, trigger), profile, event = kind, turn.profile, turn.event
    category = profile.category(name)
    if category is None:
        return None
    # A wish about one part of a project is no wish about all of them.
    local = any("/" in each and not each.startswith("http") for each in artifacts(content))
    where = USER_SCOPE if category.user_wide and not local else turn.scope
    return Candidate(
        id=digest(profile.id, name, where, trigger, event.key, content),
        profile=profile.id,
        category=name,
        scope=where,
        content=content,
        confidence=sure,
        trigger=trigger,
        at=event.at,
        origin=Origin.USER,
        artifacts=artifacts(content),
        evidence=tuple(evidence),
        reasoning=", ".join(signals),
    )
