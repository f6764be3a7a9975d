"""Decisions made by an answer: a "yes" to what the assistant recommended, an option named by its letter or number.

What was agreed stands in the assistant's words, that it was agreed in the person's; both are the evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import re2

from kept.model.artifact import artifacts
from kept.model.lexicon import Lexicon
from kept.stages.extract.cues import compiled, has, specific, strip_first, strip_last
from kept.stages.extract.sentences import sentences
from kept.stages.extract.writing import LONGEST, finish, fit, plain

_ITEM = re2.compile(
    r"(?m)^[ \t]*(?:#+ *)?(?:[-*] +)?(?:\*\*|__)?(?:[A-Z][a-z]+ +)?(?P<mark>[A-H]|[0-9][0-9]?)(?:[.):]| *[—–-]|\*\*)[ \t]*(?P<rest>\S.+)$"
)
_OPTION = re2.compile(r"(\pL+)\s+#?([A-Ha-h]|\d\d?)(?:$|[^\pL\pN])")
# "1, because …": a pick with its reason.
_LEADING = re2.compile(r"(?i)^\s*#?([A-H]|\d\d?)(?:(?:\s+please)?\s*[,;–—]\s*|\s+(?:because|since|as|but|with)\s)(\S.+)$")
# The option itself, where words that favour it come before or after: what follows is a reason, or nothing.
_FAVOURED = re2.compile(r"^\s*#?([A-H]|\d\d?)\s+(\S.*)$")
_NEXT = re2.compile(r"^\s*#?([A-H]|\d\d?)(?:$|\s*[,.;:!–—]\s*(.*)$|\s+(?:because|since|as|but|with)\s+(.*)$)")
# "storing amounts as cents": what is done, not a thing that is used.
_GERUND = re2.compile(r"^[A-Za-z]?[a-z]{2,}[^aeiou ]?ing\s+\S")
_MARK = re2.compile(r"[A-Za-z0-9]+")
_HEAD = re2.compile(r"^\s*(?:#+\s|\*\*[^*]+\*\*:?\s*$)")
_TOO_MANY = 4
_BACK = 4
_NESTED = 2  # options that are told by another option
_TITLE = 90
_SHORT_ANSWER, _LONG_ANSWER = 12, 25  # words
_START = 120  # characters of an option by which a quotation of it is told
_QUOTED = 8  # words of an option from which somebody who repeats them quotes it
# What follows the first clause of an answer: the next matter.
_CLAUSE = re2.compile(r"\.{2,}|…|[.;\n]|,\s")
_NAMED = re2.compile(r"(?i)\b(?:option|approach|variant|alternative)\s+#?([A-H]|\d\d?)\b(?:\s+is\b)?")
_BRACKET = re2.compile(r"\s*\([^()]*\)")
_BOLD = re2.compile(r"\*\*([^*\n]{3,60})\*\*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pick:
    """What was agreed: its words as a memory would say them, the assistant's words they come from, verbatim, whether it is more than a name
    (the line that tells what it is stands with it), further words of the assistant's that it rests on, and whether it needs no question
    before it.
    """

    content: str
    quote: str
    sure: bool
    told: bool = False
    more: tuple[str, ...] = ()
    whole: bool = False


def pick(answer: str, replies: Sequence[str], lexicon: Lexicon) -> Pick | None:
    """What an answer picks out of the assistant's replies (latest first); None where it picks nothing that lasts."""
    if not replies:
        return None
    first = answer.strip().split("\n\n", 1)[0]
    if (lead := _LEADING.match(first)) and len(first.split()) <= 30 and len(_marks(first)) < 2 and not first.rstrip().endswith("?"):
        return (
            _items((lead[1].upper(),), replies[0], lexicon, reason=_reason(lead[2], lexicon))
            if _asks(replies[0], lexicon)
            else None
        )
    favoured, why = _favoured(first, lexicon)
    if favoured and _asks(replies[0], lexicon):
        return _items((favoured,), replies[0], lexicon, reason=_reason(why, lexicon))
    option = _option(first, lexicon)
    if option:
        found = (item for reply in replies if (item := _items((option,), reply, lexicon, words=first)) is not None)
        return next(found, None)
    marks = _marks(answer)
    if marks:
        return _items(marks, replies[0], lexicon) if len(marks) == 1 and _asks(replies[0], lexicon) else None
    if not _agrees(answer, lexicon):
        return None
    after = strip_first(lexicon.agreement, answer.strip())
    offered = _offered(replies[0], after, lexicon)
    return offered if offered and offered.sure else _recommended(replies, lexicon) or _standing(replies, lexicon) or offered


def _standing(replies: Sequence[str], lexicon: Lexicon) -> Pick | None:
    """What was recommended a few messages before and what the last message, which is agreed to, carries out: it names the same thing."""
    for place in range(1, min(_BACK, len(replies))):
        found = _recommended(replies[place:], lexicon)
        names = [name for name in (*_BOLD.findall(found.quote), *artifacts(found.quote)) if len(name) > 3] if found else []
        if found and any(plain(name).casefold() in plain(replies[0]).casefold() for name in names):
            return found
    return None


def _asks(reply: str, lexicon: Lexicon) -> bool:
    """Whether a reply leaves a choice: it ends with a question, or lays out options."""
    return "?" in reply[-600:] or has(lexicon.option, reply)


def _option(answer: str, lexicon: Lexicon) -> str:
    """The one option an answer names ("option C"), where the answer is a statement of at most 30 words."""
    named = _OPTION.findall(answer) if has(lexicon.option, answer) else []
    picked = {mark.upper() for word, mark in named if has(lexicon.option, word)}
    return picked.pop() if len(picked) == 1 and len(answer.split()) <= 30 and not answer.rstrip().endswith("?") else ""


def _favoured(answer: str, lexicon: Lexicon) -> tuple[str, str]:
    """The option that an answer of at most 30 words opens by favouring ("C sounds right", "let's go with B"), and what it says after that."""
    if len(answer.split()) > 30 or answer.rstrip().endswith("?") or not lexicon.favours:
        return "", ""
    bare = strip_first(lexicon.opener, answer)
    led = _FAVOURED.match(bare)
    if led:
        said = compiled(lexicon.favours).match(led[2])
        return (led[1], led[2][said.end(said.lastindex) :]) if said else ("", "")
    said = compiled(lexicon.favours).match(bare)
    named = _NEXT.match(bare[said.end(said.lastindex) :]) if said else None
    return (named[1], named[2] or named[3] or "") if named else ("", "")


def _agrees(answer: str, lexicon: Lexicon) -> bool:
    """Whether an answer is a yes of at most 12 words; what is to come afterwards does not count."""
    rest = strip_first(lexicon.agreement, answer.strip())
    if rest == answer.strip() or "?" in answer or len(answer.split()) > _LONG_ANSWER:
        return False
    clauses = [each.strip() for each in _CLAUSE.split(rest) if each.strip()]
    said = [each for each in clauses if not has(lexicon.afterwards, each)]
    return sum(len(each.split()) for each in said) < _SHORT_ANSWER and not any(has(lexicon.refusal, each) for each in clauses)


def _marks(answer: str) -> tuple[str, ...]:
    """The letters and numbers an answer picks, where it is little else."""
    if len(answer) > 80 or "\n" in answer.strip() or answer.rstrip().endswith("?"):
        return ()
    words = _MARK.findall(answer)
    found = tuple(dict.fromkeys(word for word in words if word.isdigit() or word in "ABCDEFGH"))
    return found if len(words) - len(found) <= 3 and not (len(found) == 1 and found[0] == "A" and len(words) > 1) else ()


def _items(marks: tuple[str, ...], reply: str, lexicon: Lexicon, *, words: str = "", reason: str = "") -> Pick | None:
    if len(marks) > _TOO_MANY:
        return None
    listed: dict[str, str] = {}
    named: dict[str, str] = {}
    for match in _ITEM.finditer(reply):
        mark, line = match["mark"].upper(), match[0].strip()
        if has(lexicon.option, match[0][: match.start(1) - match.start()].strip(" \t#*_-")):
            named[mark] = line
        listed[mark] = line
    # A list that calls its items options is the one an answer picks from; else the last one is.
    listed = named if named or words else listed
    chosen = [(mark, listed[mark]) for mark in marks if mark in listed]
    if not chosen or len(chosen) != len(marks) or len(listed) < 2:
        return None
    each = max(60, 240 // len(chosen))
    texts = [_short(_item_text(line), each) for _, line in chosen]
    if not all(texts):
        return None
    content = "; ".join(text.rstrip(".:") for text in texts)
    below = _told_below(reply, chosen[0][1]) if words and len(chosen) == 1 else ""
    told = plain(below).rstrip(" .:")
    content = f"{content}: {told[:1].lower()}{told[1:]}" if told else content
    quote = reply[reply.index(chosen[0][1]) :].partition(below)[0] + below if below else chosen[0][1]
    return Pick(
        content=_stated(content, reason or _added(words, marks, lexicon), lexicon),
        quote=quote[:400],
        sure=_is_choice(words, lexicon) if words else bool(reason) or _lasts(chosen, lexicon),
        told=bool(told),
    )


def _told_below(reply: str, line: str) -> str:
    """The line below the title of an option, as it stands, where it is prose that tells what the option is."""
    below = reply.partition(line)[2].lstrip("*_ ").lstrip("\n").split("\n", 1)[0].strip()
    prose = below[:1].isalpha() and 4 <= len(below.split()) <= 16
    return below if prose and line.endswith("**") and len(line) + len(below) < LONGEST // 2 else ""


def _stated(content: str, reason: str, lexicon: Lexicon) -> str:
    """What was chosen as a sentence: a way of doing it is said to be used, an order is left as it is; the person's reason in brackets."""
    for _ in range(2):  # "I recommend using"
        content = strip_first(lexicon.chooser, content).strip(" .:;")
    head, _, rest = content.partition(" ")
    if _GERUND.match(content) and lexicon.phrase("settled"):
        content = f"{lexicon.phrase('settled')} {head.lower()} {rest}"
    elif not any(has(cue, content) for cue in (lexicon.task, lexicon.rule_start, lexicon.finite)):
        # "Per-file watches" and "A file" begin with a plain word, "Postgres" may be a name.
        plainly = "-" in head or has(lexicon.article, head)
        content = f"{lexicon.phrase('chosen')} {head.lower() if plainly else head} {rest}".rstrip()
    if reason and len(content) + len(reason) < 290:
        content = f"{content} ({reason})"
    return finish(content)


def _added(words: str, marks: tuple[str, ...], lexicon: Lexicon) -> str:
    """What an answer says besides naming the option: its reason or its addition."""
    named = [match for match in _OPTION.finditer(words) if match[2].upper() in marks]
    rest = words[named[-1].end(2) :] if named else ""
    return _reason(rest, lexicon)


def _reason(rest: str, lexicon: Lexicon) -> str:
    rest = strip_first(lexicon.joint, rest.lstrip(" ,;:.–—-，、；。"))
    rest = strip_first(lexicon.reason, rest) if has(lexicon.reason, rest[:12]) else rest
    rest = plain(rest).strip(" .!,;")
    whole = not has(lexicon.chatter, rest) and not has(lexicon.dangling, rest)
    return rest if len(rest.split()) >= 3 and whole and len(rest) <= 160 else ""


def _is_choice(words: str, lexicon: Lexicon) -> bool:
    """Whether words that name an option choose it, rather than ask for something to be done with it."""
    asked = strip_first(lexicon.request, words)
    return asked == words or not has(lexicon.task, asked)


def _lasts(chosen: list[tuple[str, str]], lexicon: Lexicon) -> bool:
    """Whether what was picked is a way of doing it rather than a list of things to do."""
    texts = [_item_text(line) for _, line in chosen]
    named = all(mark.isalpha() or artifacts(text) for (mark, _), text in zip(chosen, texts, strict=True))
    return named and len(chosen) <= 3 and not any(has(lexicon.task, text) for text in texts)


def _item_text(line: str) -> str:
    match = _ITEM.match(line)
    return plain(match["rest"].replace("**", " ").replace("__", " ")) if match else plain(line)


def _short(text: str, longest: int) -> str:
    """The text up to a natural break that keeps it short enough; empty when there is none."""
    if len(text) <= longest:
        return text
    cut = max(text.rfind(stop, 0, longest) for stop in (". ", "; ", " — ", " – ", ": ", ", ", " ("))
    return text[:cut].rstrip(" ,;:—–(") if cut > 15 else ""


def _recommended(replies: Sequence[str], lexicon: Lexicon) -> Pick | None:
    """The last sentence of the latest reply in which the assistant recommended something that has a name, or an option of any reply."""
    reply = replies[0]
    for span in reversed(sentences(reply, 0, len(reply))):
        words = reply[span.start : span.end]
        if (
            not has(lexicon.proposal, words)
            or words.rstrip().endswith(("?", ":"))
            or _HEAD.match(words)
            or not 5 <= len(words.split()) <= 60
        ):
            continue
        option = _option(words, lexicon)
        content = strip_first(lexicon.chooser, plain(words))
        # Options that are called so come before any other list.
        laid_out = option and any(option in _listed(each, lexicon) for each in replies)
        elsewhere = laid_out and option not in _listed(reply, lexicon)
        if option and not elsewhere and (item := _items((option,), reply, lexicon)) is not None:
            return item
        told, lines = _spelled_out(content, replies, lexicon) if option else (content, ())
        named = _stated(told, "", lexicon) if told else ""
        if named and len(named) <= LONGEST and specific(named, lexicon):
            return Pick(content=named, quote=words[:400], sure=True, more=lines)
    return None


def _spelled_out(content: str, replies: Sequence[str], lexicon: Lexicon) -> tuple[str, tuple[str, ...]]:
    """A recommendation of an option of an earlier reply, with what that option is in the place of its name, and the lines that tell it;
    empty where none does.
    """
    lines: list[str] = []
    while (named := _NAMED.search(content)) is not None:
        mark = named[1].upper()
        line = next((listed[mark] for reply in replies if mark in (listed := _listed(reply, lexicon))), "")
        # What the recommendation adds takes the place of what the option says in brackets.
        title = str(_BRACKET.sub("", _titled(line))).strip(" .:;")
        if not title or len(lines) == _NESTED:
            return "", ()
        head = content[: named.start()]
        content = f"{head}{title[:1].lower() if head and title[1:2].islower() else title[:1]}{title[1:]}{content[named.end() :]}"
        lines.append(line[:400])
    return content, tuple(lines)


def _listed(reply: str, lexicon: Lexicon) -> dict[str, str]:
    """The lines of a reply that lay out an option by its letter or number, each under it."""
    found: dict[str, str] = {}
    for match in _ITEM.finditer(reply):
        if has(lexicon.option, match[0][: match.start(1) - match.start()].strip(" \t#*_-")):
            found.setdefault(match["mark"].upper(), match[0].strip())
    return found


def _titled(line: str) -> str:
    """The title of an option's line: its first sentence."""
    return _short(_item_text(line).split(". ", 1)[0], _TITLE) if line else ""


def quoted(prompt: str, replies: Sequence[str], lexicon: Lexicon) -> Pick | None:
    """The option that a prompt repeats word for word and asks to carry out; None where it does anything else with it."""
    for reply in replies:
        for match in _ITEM.finditer(reply):
            line = match[0].strip()
            words = plain(match["rest"].replace("**", " ").replace("__", " "))
            said, start = plain(prompt).replace("`", ""), words.replace("`", "")[:_START]
            if len(words.split()) < _QUOTED or start not in said:
                continue
            rest = said[: said.index(start)].strip()
            order = strip_first(lexicon.request, strip_first(lexicon.opener, rest))
            asked = [order, strip_first(lexicon.agreement, rest)]
            if len(rest.split()) <= _LONG_ANSWER and any(has(lexicon.carries_out, each) for each in asked):
                return Pick(content=fit(finish(words)), quote=line[:400], sure=specific(words, lexicon), whole=True)
    return None


def _offered(reply: str, after: str, lexicon: Lexicon) -> Pick | None:
    """What the assistant asked about at its end, with what the person added: sure where it asks how things shall be rather than
    whether to do a step.
    """
    for span in reversed(sentences(reply, max(0, len(reply) - 600), len(reply))):
        words = reply[span.start : span.end]
        rest = strip_first(lexicon.offer, words)
        if rest != words and words.rstrip().endswith("?"):
            gate = _gate(rest, after, lexicon)
            if gate:
                return Pick(content=gate, quote=words[:400], sure=True)
            names, added = artifacts(rest), len(after.split()) >= 2
            said = f"{plain(rest).rstrip('?')}, {plain(after)}" if added else plain(rest).rstrip("?")
            lasting = has(lexicon.versus, said) or has(lexicon.generaliser, said) or not has(lexicon.task, said)
            sure = lasting and bool(names)
            return Pick(content=fit(finish(said)) if names else "", quote=words[:400], sure=sure)
    return None


def _gate(offer: str, after: str, lexicon: Lexicon) -> str:
    """The rule in an offer to run a chain of commands first, which the answer puts before its next step; empty where it is none."""
    bare = plain(offer).rstrip("? ")
    order, following = strip_last(lexicon.beforehand, bare), strip_first(lexicon.afterwards, after.strip())
    step = plain(following).rstrip(" .!")
    chained = any("&&" in name for name in artifacts(order))
    orders = following != after.strip() and has(lexicon.task, step) and 1 <= len(step.split()) <= _SHORT_ANSWER // 2
    if order == bare or not chained or not orders or not lexicon.phrase("before"):
        return ""
    return fit(finish(f"{lexicon.phrase('before')} {step[:1].lower()}{step[1:]}: {order}"))
