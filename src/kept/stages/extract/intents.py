"""What a person's prompts teach: rules, corrections, decisions, conventions, preferences, facts, goals; each as a candidate with evidence.

Reads the person's own words sentence by sentence, together with the assistant's turn they answer. Knows nothing of tools, errors and
fixes, and nothing of what happens to a candidate.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice

from kept.model.artifact import artifacts
from kept.model.event import Author, Event
from kept.model.lexicon import Lexicon
from kept.model.memory import Candidate
from kept.model.profile import Profile
from kept.model.text import likeness, tokens
from kept.stages.extract.answers import of_answer
from kept.stages.extract.cues import has, places, specific, strip_first, strip_last
from kept.stages.extract.grants import confirmation, speaks_of
from kept.stages.extract.pointing import after_symptom, limiting, named, naming, placed, undoing
from kept.stages.extract.prose import Passage, Voice, passages
from kept.stages.extract.sentences import Span, sentences
from kept.stages.extract.signals import WEIGHTS, Reading, Setting, read
from kept.stages.extract.spelling import respell, vocabulary
from kept.stages.extract.turn import READ, Turn, evidence_of, made
from kept.stages.extract.view import Before, applied, before, granted, is_prompt, proposed, referent, replied
from kept.stages.extract.writing import LONGEST, finish, fit, join, left_open, plain, write

# Below this a sentence is not even proposed: it would only fill the review.
LEAST = 0.5
# A prompt that taught more than this was a document.
MOST = 4
# The sentences of a prompt that are read: more than anybody types.
SENTENCES = 200
_QUOTE = 400
# The words of a wish up to which its neighbour is told with it.
_FEW_WORDS = 14
# How a sentence ends; what was cut in the middle of one ends otherwise.
_STOPS = (".", "!", "。", "！", "”", '"')


def propose(
    events: Sequence[Event], start: int, stop: int, *, profile: Profile, lexicon: Lexicon, scope: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """The candidates anchored at the prompts in ``[start, stop)``, in order."""
    found: list[Candidate] = []
    for index in range(start, stop):
        if is_prompt(events[index]) and not _typed_again(events, start, index):
            seen = before(events, start, index)
            place = scope(events[index].project)
            found += _of_prompt(
                Turn(
                    event=events[index],
                    seen=seen,
                    profile=profile,
                    lexicon=lexicon,
                    scope=place,
                    granted=granted(events, index, stop, lexicon),
                    confirming=confirmation(events, index, stop, lexicon),
                    tasked=has(lexicon.task, strip_first(lexicon.request, events[index].text[:200].lstrip())),
                    applied=applied(events, index, stop),
                    replied=replied(events, index, stop),
                    mending=has(lexicon.defect, events[index].text[:READ]),
                    later=tuple(each for each in events[index + 1 : stop] if is_prompt(each)),
                )
            )
    return tuple(found)


def _typed_again(events: Sequence[Event], start: int, index: int) -> bool:
    """Whether a prompt is the one before, sent once more with words added before anything was answered."""
    for event in reversed(events[max(0, start - 1) : index]):
        if event.author is not Author.INJECTED:
            text = event.text.strip()
            return len(text) > 20 and is_prompt(event) and events[index].text.strip().startswith(text)
    return False


def _of_prompt(turn: Turn) -> list[Candidate]:
    answered = of_answer(turn)
    # What an answer says in its first paragraph is part of what it agrees to.
    said = [
        each
        for each in _of_words(turn)
        if answered is None or each.evidence[0].quote not in turn.event.text.strip().split("\n\n", 1)[0]
    ]
    best = sorted(said, key=lambda each: -each.confidence)[:MOST]
    return ([answered] if answered else []) + [each for each in said if each in best]


def _of_words(turn: Turn) -> list[Candidate]:
    """The candidates of a prompt's own sentences, a sentence that leans on its neighbour taken together with it."""
    spoken = _spoken(turn.event.text, turn.seen, turn.lexicon)
    readings = [_read(turn, said) for said in spoken]
    found: list[Candidate] = []
    used: set[int] = set()
    for place, reading in enumerate(readings):
        if place in used or not reading.category:
            continue
        group, sure = _group(turn, spoken, readings, place)
        if sure < LEAST or turn.profile.category_for(reading.category) is None:
            continue
        used.update(group)
        lead = max((readings[each] for each in group if readings[each].category), key=lambda each: each.confidence)
        candidate = _candidate(turn, [spoken[each] for each in group], lead, sure)
        if candidate is not None:
            found.append(candidate)
    return found


def _spoken(text: str, seen: Before, lexicon: Lexicon) -> list[tuple[Passage, Span]]:
    """The sentences of a prompt that are the person's own or reported by them, without what repeats the assistant's words."""
    replies = _replied(seen)
    own = [passage for passage in passages(text, lexicon) if passage.voice is not Voice.FOREIGN]
    said = (
        (passage, span)
        for passage, lists in _with_lists(text, own, lexicon)
        for span in sentences(text, passage.start, passage.end, lists=lists)
        if (not span.aside or has(lexicon.person, text[span.start : span.start + 8]))
        and not _repeats(text[span.start : span.end], replies)
    )
    return list(islice(said, SENTENCES))


def _replied(seen: Before) -> str:
    """The assistant's last messages in small letters and without marks."""
    return " ".join(plain(event.text[-READ:]).casefold() for event in seen.replies[:3]).replace("`", "")


def _with_lists(text: str, own: list[Passage], lexicon: Lexicon) -> list[tuple[Passage, bool]]:
    """The passages, each with whether it is a short list and the sentence that announces it (then taken together as one passage).

    What only lays out options says nothing as a whole.
    """
    joined: list[tuple[Passage, bool]] = []
    for passage in own:
        last = joined[-1][0] if joined else passage
        announced = (
            bool(joined)
            and text[last.start : last.end].rstrip().endswith((":", "："))
            and not text[last.end : passage.start].strip()
            and not _lays_out(text[last.start : last.end], lexicon)
        )
        if announced and passage.end - last.start < 500 and _is_list(text[passage.start : passage.end]):
            joined[-1] = (replace(last, end=passage.end), True)
        else:
            head, _, rest = text[passage.start : passage.end].partition("\n")
            told = head.rstrip().endswith((":", "：")) and not _lays_out(head, lexicon)
            joined.append((passage, told and _is_list(rest) and passage.end - passage.start < 500))
    return joined


def _lays_out(lead: str, lexicon: Lexicon) -> bool:
    """Whether a few words before a list call it one of options."""
    return len(lead.split()) <= 4 and has(lexicon.option, lead)


def _is_list(text: str) -> bool:
    lines = text.strip().splitlines()
    return 2 <= len(lines) <= 6 and all(0 < len(line.split()) <= 14 and "?" not in line for line in lines)


def _repeats(sentence: str, replies: str) -> bool:
    words = plain(sentence).casefold().replace("`", "").strip(" .!?\"'“”")
    return len(words.split()) >= 6 and words in replies


def _read(turn: Turn, said: tuple[Passage, Span]) -> Reading:
    passage, span = said
    words = named(turn.event.text[span.start : span.end], turn.event.text, turn.lexicon)
    theirs = passage.voice is Voice.OWN and turn.confirming is not None
    setting = Setting(
        answers=bool(turn.seen.replies),
        reported=passage.voice is Voice.REPORTED,
        aside=span.aside,
        item=span.bullet,
        mending=turn.mending,
        tasked=turn.tasked and span.start > len(turn.event.text) - len(turn.event.text.lstrip()),
        granted=turn.granted,
        confirmed=theirs and turn.confirming is not None and speaks_of(turn.confirming, words),
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


def _group(turn: Turn, spoken: list[tuple[Passage, Span]], readings: list[Reading], place: int) -> tuple[list[int], float]:
    """The sentences that make one statement with the one at ``place``, and the confidence of the whole."""
    text, (passage, span) = turn.event.text, spoken[place]
    group, sure = [place], readings[place].confidence
    signals = readings[place].signals
    if span.aside:
        return group, sure
    goes_on = place + 1 < len(spoken) and spoken[place + 1][0] == passage
    if goes_on and has(turn.lexicon.elaborates, text[spoken[place + 1][1].start : spoken[place + 1][1].end]):
        return [place, place + 1], sure
    # What is asked may be granted later: it must not change what stands beside it.
    if "asks" in signals:
        # What stands in brackets after it says why.
        more = goes_on and spoken[place + 1][1].aside and "practice" in readings[place + 1].signals
        return ([place, place + 1], sure) if more else (group, sure)
    # Short wishes on how to work that follow each other are one, also where the first only says what to keep.
    if place and spoken[place - 1][0] == passage and _is_short_wish(text, span, readings[place]):
        kept = text[spoken[place - 1][1].start : spoken[place - 1][1].end]
        if has(turn.lexicon.upkeep, kept) and len(kept.split()) <= _FEW_WORDS and not readings[place - 1].category:
            return [place - 1, place], sure
    if goes_on and all(_is_short_wish(text, spoken[at][1], readings[at]) for at in (place, place + 1)):
        return [place, place + 1], max(sure, readings[place + 1].confidence)
    if place and _explains(turn, spoken[place - 1], spoken[place]):
        return [place - 1, place], sure
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


def _explains(turn: Turn, asked: tuple[Passage, Span], said: tuple[Passage, Span]) -> bool:
    """Whether a sentence in brackets says why what stands before it is so, which was put to the assistant and which the assistant confirms."""
    text, lexicon = turn.event.text, turn.lexicon
    (passage, before_it), (same, span) = asked, said
    if same != passage or text[span.start] != "(" or turn.confirming is None:
        return False
    words = text[before_it.start : before_it.end]
    put = words.endswith(("?", "？")) and strip_last(lexicon.tag, words.rstrip("?？ ")) != words.rstrip("?？ ")
    return put and has(lexicon.reason, words) and speaks_of(turn.confirming, words)


def _is_short_wish(text: str, span: Span, reading: Reading) -> bool:
    return reading.category == "preference" and len(text[span.start : span.end].split()) <= _FEW_WORDS and not span.aside


def _ends_the_matter(reading: Reading) -> bool:
    return bool(
        {"asks", "question", "chatter", "about the agent", "step of the task", "of the moment", "report"} & set(reading.signals)
    )


def _candidate(turn: Turn, said: list[tuple[Passage, Span]], reading: Reading, sure: float) -> Candidate | None:
    event, seen, profile, lexicon = turn.event, turn.seen, turn.profile, turn.lexicon
    raw = [event.text[span.start : span.end] for _, span in said]
    # A lone "No!" or a reproach before the rule says nothing itself.
    raw = [
        words for words in raw if len(raw) == 1 or (strip_first(lexicon.opener, words) and (" " in words or not words.isascii()))
    ]
    if not raw:
        return None
    content = write(named(raw[0], event.text, lexicon), lexicon)
    for words in raw[1:]:
        more = write(words, lexicon)
        more = f"{more[:1].lower()}{more[1:]}" if words.startswith("(") and words[1:2].islower() else more
        content = join(content.rstrip("."), f"({more.rstrip('.')}).") if words.startswith("(") else join(content, more)
    words_around = vocabulary(each.text[-READ:] for each in (*seen.replies[:4], *seen.older[:6]))
    content = fit(respell(content, lambda word: word in words_around or has(lexicon.technical, word)))
    # After a verdict on the assistant's words those are repeated.
    if not content or (has(lexicon.profanity, content) and len(raw) > 1) or (len(raw) == 1 and _repeats(content, _replied(seen))):
        return None
    if reading.category == "open_question":
        content = "" if _settled(raw[0], turn) else fit(left_open(raw[0], lexicon))
        if not content:
            return None
    signals, evidence = list(reading.signals), [evidence_of(event, words) for words in raw]
    content, told = limiting(content, said[0], turn) if len(said) == 1 else (content, [])
    evidence += told
    if not content.endswith(_STOPS):
        signals.append("half of it")
        sure = round(sure + WEIGHTS["half of it"], 2)
    if reading.category == "project_fact" and reading.trigger == "correction" and len(raw) == 1:
        content, told = placed(content, turn)
        evidence += told
    content, told = after_symptom(content, seen, lexicon)
    if "takes back" in signals and not told and reading.category == "decision":
        content, told = undoing(content, seen, lexicon)
    evidence += told
    meant = proposed(seen) if places(lexicon.its_doing, content) else ""
    if meant and len(content) + len(meant) < LONGEST:
        low, _ = places(lexicon.its_doing, content)[0]
        content = f"{content[:low]}`{meant}`{content[low + 4 :]}"
        signals.append("named from the turn before")
        evidence += naming(meant, seen)
        sure = round(min(0.95, sure - WEIGHTS["vague"]), 2) if "vague" in signals else sure
    kind = profile.category_for(reading.category)
    back = has(lexicon.pointer, content) and not artifacts(content)
    vague = kind is not None and kind.specific and (back or not specific(content, lexicon))
    about = referent(content, seen, points_back=back) if vague else ""
    if about and len(content) + len(about) + 12 <= LONGEST:
        pointed = places(lexicon.pointer, content)
        if pointed:
            low, high = pointed[0]
            content = f"{content[:low]}`{about}`{content[high:]}"
            # What it is about was all that was vague.
            sure = round(min(0.95, sure - WEIGHTS["vague"]), 2) if "vague" in signals else sure
        else:
            content = finish(
                f"{lexicon.phrase('in')} `{about}`: {content[:1].lower() if content[1:2].islower() else content[:1]}{content[1:]}"
            )
        signals.append("named from the turn before")
        evidence += naming(about, seen)
    return made(turn, (reading.category, reading.trigger), content, sure=sure, evidence=evidence, signals=signals)


def _settled(words: str, turn: Turn) -> bool:
    """Whether a later prompt of the episode takes up an open question with a statement."""
    mine = tokens(words)
    return any(likeness(mine, tokens(each.text)) >= 0.25 and not each.text.rstrip().endswith("?") for each in turn.later)
