"""Writes a memory out of a person's own sentence: what only belonged to the conversation goes, what was said stays.

The words come from the sentence; the lexicon says which of them carry nothing. Never cuts inside a word.
"""

import re2

from kept.model.lexicon import Lexicon
from kept.model.text import is_cjk, one_line
from kept.stages.extract.cues import found, has, places, replace, split_at, strip_all, strip_first, strip_last

_STOPPED = frozenset(".!。！")  # before a closing quotation mark as well
LONGEST = 300
_MARKS = re2.compile(r"(?:^|\s)#{1,6}\s|<!--.*?-->")
# Emphasis, but not in code, nor where it may be a name: `**/*.py`, __init__.py.
_STRONG = re2.compile(r"(`[^`\n]*`)|\*\*|__(\S[^`\n]*?\s[^`\n]*?)__")
_LINK = re2.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{1,400}\)")
_LEAD = re2.compile(r"^(?:[^\s:`\"]+[ ,]+){0,4}[^\s:`\"/]+:\s+")
# A list after the line that announces it is written on one line.
_LISTED = re2.compile(r":[ \t]*\n\s*(?:[-*•][ \t]+|\d+[.)][ \t]+)?")
_LIST = re2.compile(r"[ \t]*[,;.]?[ \t]*\n\s*(?:[-*•][ \t]+|\d+[.)][ \t]+)?")
# A sentence that begins with a path and goes on as if it had said "in" it, or with a rule for it.
_PLACED = re2.compile(r"^((?:~|\.{1,2})?/\S+|\.\w[\w.-]*/\S*)(?: and|,) ")
_COMMA = re2.compile(r"[,;，；]\s*")
# A memory is written into files where "@path" would import that path.
_IMPORT = re2.compile(r"(^|[\s`(\"'])@([\w~.-]*/)")
_SHOUTED = re2.compile(r"(?:\b[A-Z']+\b[ ,]+){2,}\b[A-Z']{2,}\b")
_STOPS = re2.compile(r"\s+([.,;:!?])(?:\s|$)|(?:\.{2,}|…)(?:\s|$)|([!?])[!?]+")


# "Demande-moi": an order of some languages, no name.
_ASKED = re2.compile(r"^\p{Ll}+-(?:moi|toi|nous|lui|leur|le|la|les|me|te|se|lo|los|las)$")


def write(sentence: str, lexicon: Lexicon) -> str:
    """The sentence as a statement that stands alone: openers, request forms, tags, profanity and markdown off; empty if nothing is left."""
    text = plain(_LIST.sub("; ", _LISTED.sub(": ", sentence)) if _LISTED.search(sentence) else sentence)
    text = _lowered(text)
    text = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    for source, words in lexicon.softer:
        text = replace(source, words, text)
    text = plain(text)
    text = _without_oaths(strip_all(lexicon.expletive, text), lexicon)
    text = without_question(after_verdict(_strip_openers(text, lexicon), lexicon), lexicon)
    text = _placed(_shall_be(after_step(_announced(text, lexicon), lexicon), lexicon), lexicon)
    banned = strip_first(lexicon.ban, text)
    text = f"{lexicon.phrase('do not')} {banned}" if banned != text else text
    text = strip_first(lexicon.duty, text) if not has(lexicon.finite, strip_first(lexicon.duty, text)) else text
    asked = text.rstrip("\"'”) ").endswith("?")
    requested = strip_first(lexicon.request, text)
    if requested != text:
        text = strip_first(lexicon.filler, requested)
        denied = strip_first(lexicon.denial, text)
        text = f"{lexicon.phrase('do not')} {denied}" if denied != text else text
    if asked:
        text = strip_last(lexicon.tag, text.rstrip("\"'”) ?!."))
    return finish(without_trailer(text, lexicon))


def _placed(text: str, lexicon: Lexicon) -> str:
    """A sentence that begins with a path ("~/x and none of …", ".x, make sure …") with the words that it leaves out."""
    match = _PLACED.match(text)
    return (
        f"{lexicon.phrase('in')} `{match[1]}`: {text[match.end() :]}" if match and len(text[match.end() :].split()) >= 4 else text
    )


def _shall_be(text: str, lexicon: Lexicon) -> str:
    """What things shall be like, out of an order to look them over for it ("review the tests that they don't …")."""
    asked = strip_first(lexicon.request, text)
    rest = strip_first(lexicon.checking, asked)
    head, tail = split_at(lexicon.so_that, rest) if rest != asked else ("", "")
    noun = strip_last(lexicon.so_that, head)
    if not tail or not 1 <= len(noun.split()) <= 4 or len(tail.split()) < 4:
        return text
    return f"{lexicon.phrase('see to it')} {noun} {tail.strip()}"


def left_open(sentence: str, lexicon: Lexicon) -> str:
    """An open question as a statement that says so, from its question word on."""
    head, tail = split_at(lexicon.unsettled, plain(sentence))
    last = head.rstrip(" :").rpartition(" ")[2]
    asked = f"{last} {tail.strip()}" if last and has(lexicon.question_word, last) else tail.strip(" :,")
    return finish(f"{lexicon.phrase('open')}: {asked.rstrip('?？ .!')}") if len(asked.split()) >= 4 else ""


def plain(text: str) -> str:
    """The text on one line without markdown marks and links, runs of stops as one."""
    text = one_line(_LINK.sub(r"\1", text))
    text = one_line(_MARKS.sub(" ", unstressed(text)))
    text = str(_IMPORT.sub(r"\1\2", _STOPS.sub(_stop, text)))
    return text.strip(" -–—*")


def unstressed(text: str) -> str:
    """The text without marks of emphasis."""
    return str(_STRONG.sub(lambda match: match[1] or match[2] or "", text))


def _stop(match: "re2._Match[str]") -> str:
    return str(match[2] or f"{match[1] or ','} ")


def finish(text: str) -> str:
    """The text with a capital at its start and a full stop at its end; unbalanced outer marks removed."""
    text = text.strip(" ,;:-–—")
    for mark in '"“”':
        text = text.strip(mark) if text.count(mark) == 1 else text
    text = (text if text.count("(") == text.count(")") else text.strip("()")).strip()
    if not text:
        return ""
    if text[0].islower() and not _is_name(text.split()[0]):
        text = text[0].upper() + text[1:]
    return text if text.rstrip('"”')[-1:] in _STOPPED else text.rstrip("?:;,") + ("。" if _dense(text) else ".")


def join(first: str, second: str) -> str:
    """Two finished sentences as one text if that is short enough, else the first alone."""
    return f"{first} {second}" if second and len(first) + len(second) + 1 <= LONGEST else first


def fit(text: str) -> str:
    """The text if it is short enough, else its first sentences that are; empty when not even one is."""
    while len(text) > LONGEST:
        cut = max(text.rfind(stop, 0, LONGEST) for stop in (". ", "! ", "; ", "。"))
        if cut < 40:
            return ""
        text = text[: cut + 1].rstrip(";").rstrip()
    return text


def _strip_openers(text: str, lexicon: Lexicon) -> str:
    for _ in range(6):
        shorter = strip_first(lexicon.opener, text)
        if shorter == text and (lead := _LEAD.match(text)) and len(text) - lead.end() > 40 and has(lexicon.person, lead[0]):
            shorter = text[lead.end() :]
        if shorter == text or len(shorter) < 3:
            break
        text = shorter
    return text


def after_verdict(text: str, lexicon: Lexicon) -> str:
    """What comes after "that is not correct, …" when the words before it are long and what comes after can stand alone."""
    head, tail = split_at(lexicon.verdict, text)
    tail = _strip_openers(tail.lstrip(" ,.;:–—-"), lexicon) if len(tail.split()) >= 6 else ""
    short = len(head.split()) <= 16 and not has(lexicon.deictic, head)
    return text if not tail or short or has(lexicon.deictic, tail) else tail


def after_step(text: str, lexicon: Lexicon) -> str:
    """The rule in a sentence that first asks for a step of the moment ("address 2 and never …"), after what the step makes."""
    if not has(lexicon.task, strip_first(lexicon.request, text)):
        return text
    cuts = sorted([(comma.start(), comma.end()) for comma in _COMMA.finditer(text)] + places(lexicon.joint, text))
    for low, high in cuts:
        head, tail = text[:low].rstrip(), strip_first(lexicon.opener, text[high:].lstrip())
        if len(head.split()) > 18 or has(lexicon.constraint, head) or has(lexicon.relative, head):
            break
        if head.count("(") == head.count(")") and len(tail.split()) >= 5 and has(lexicon.rule_start, tail):
            return _about(head, tail, lexicon)
    return text


def _about(step: str, rule: str, lexicon: Lexicon) -> str:
    """A rule after the thing that the step before it is about ("write a changelog for …, one line each" → "Changelog: one line each")."""
    order = strip_first(lexicon.request, step)
    thing = strip_first(lexicon.task, order)
    cut = min((low for low, _ in places(lexicon.part, thing)), default=len(thing))
    words = strip_first(lexicon.article, thing[:cut].strip()).split()
    named = thing != order and 1 <= len(words) <= 4 and not has(lexicon.deictic, thing) and not has(lexicon.pointer, thing)
    return f"{' '.join(words)}: {rule[:1].lower()}{rule[1:]}" if named and len(order.split()) > 8 else rule


def without_question(text: str, lexicon: Lexicon) -> str:
    """The statement before a question it is joined to by a comma ("we do x, what is y for?"); the whole text where there is none."""
    if not text.rstrip("\"'”) ").endswith("?") or has(lexicon.question, text) or has(lexicon.request, text):
        return text
    cuts = [(comma.start(), comma.end()) for comma in _COMMA.finditer(text)]
    return next(
        (
            strip_last(lexicon.tag, text[:low])
            for low, high in cuts
            if len(text[:low].split()) >= 6 and has(lexicon.question, text[high:])
        ),
        text,
    )


def _without_oaths(text: str, lexicon: Lexicon) -> str:
    """The text up to the clause that swears, if enough is left before it; else the text as it is, for the gate to refuse."""
    if not has(lexicon.profanity, text):
        return text
    before, _ = split_at(lexicon.profanity, text)
    head, _ = split_at(lexicon.reason, before)
    cut = max(before.rfind(","), before.rfind(";"), len(head) - len(found(lexicon.reason, before)) if head != before else -1)
    return text[:cut].rstrip(" ,;") if cut > 0 and len(text[:cut].split()) >= 6 else text


def _announced(text: str, lexicon: Lexicon) -> str:
    """The rule in a sentence that says which rule was broken ("x breaks the rule that …"); the whole text where there is none."""
    _, tail = split_at(lexicon.stated, text)
    return tail.strip() if len(tail.split()) >= 5 and not has(lexicon.deictic, tail.strip()) else text


def without_trailer(text: str, lexicon: Lexicon) -> str:
    """The text up to a last clause that only complains ("…, I had to revert it twice"), if enough is left before it."""
    text = text.rstrip(" ,;")
    comma = text.rfind(",")
    tail = text[comma + 1 :].strip()
    enough = comma > 0 and len(text[:comma].split()) >= 5 and text[:comma].count("(") == text[:comma].count(")")
    return text[:comma] if enough and has(lexicon.trailing, tail) else text


def _lowered(text: str) -> str:
    """The text with runs of three or more shouted words in small letters."""
    return str(_SHOUTED.sub(lambda run: run[0].lower(), text))


def _dense(text: str) -> bool:
    """Whether a text is in a script without spaces, whatever name it ends in."""
    return is_cjk(text[-1]) or 4 * sum(map(is_cjk, text)) >= len(text)


def _is_name(word: str) -> bool:
    if _ASKED.search(word):
        return False
    plain_word = word.strip(".,;:!?'\"()").replace("'", "").replace("’", "")
    return not plain_word.isalpha() or any(char.isupper() for char in plain_word[1:])
