"""Says whose words the parts of a person's prompt are: their own, reported ones (a review they pass on), or foreign ones (logs, code,
diffs, tables, documents, quotes). Judges by shape, position and voice; knows nothing of what the words mean.
"""

from dataclasses import dataclass
from enum import StrEnum

import re2

from kept.model.lexicon import Lexicon
from kept.stages.extract.cues import has

# Longer prompts are read to here: nobody types more, and what follows was pasted.
LONGEST = 20_000
_FENCE = re2.compile(r"^\s*(?:```|~~~)")
_HEADING = re2.compile(r"^\s{0,3}#{1,6}\s+\S")
_INTRO = re2.compile(r"[:：]\s*$")
_FOREIGN = re2.compile(
    r"(?i)^\s*(?:"
    r"diff --git |@@ |\+\+\+ |--- |index [0-9a-f]{6,}|[+]\s?\S|\d+ *[+-] ?\S|\d+[→|]"  # diffs, numbered listings
    r"|(?:[-*] |\d+[.)] )?\*\*[^*\n]{2,60}(?::\*\*|\*\*:)|>|\|.*\||<[/!a-z][^>]*>\s*$"  # quotes, tables, tags
    r"|[❯➜$%»] \S|>>> |\[[^\]]*\d[^\]]*\]\s*\S"  # shell prompts, stamped lines
    r"|= ?(?:help|note|hint):|--> \S|at \S+ ?\(|at <|at \S+:\d|file \"|caused by:|traceback"  # stacks
    r"|\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) +\d{1,2} \d\d:\d\d"  # log times
    r"|::\w+[^\n:]*::|-- \S|(?-i:[A-Z][A-Z-]{3,}(?:;[^:\n]{0,80})?:\S)"  # a build's annotations, comments of queries, calendars
    r"|(?:error|warning|warn|fatal|remote|panic|info|debug|fail|failed|exception|uncaught|\w*error|\w*exception)\s?(?:\[[^\]]*\])?:"
    r"|(?:fehler(?:meldung)?|warnung|erreur|avertissement|errore?|erro|aviso|advertencia|错误|报错|警告|エラー)\s?[:：]"
    r"|(?:===|\*\*\*)\s|(?:fail|pass|ok)\s+\S*[/.]\S+"
    r"|[✖✓✔✅❌⨯•└├│┌─═▪▶☰↑↓⠇👀🌐📋🔑🔄🤖⚠📊]"
    r"|\S+\.\w{1,5}:\d+|commit [0-9a-f]{7,}|(?:author|date):\s+\S|[\w -]{2,20}:\t|\S+\s+\|\s+\d+|create mode"
    r"|(?:import|export|const|let|var|func|def|class|return|if|for|while|package|type|public|private)\s.*[{;:)(]\s*$"
    r"|[\w\"'.]+\s*[:=]\s*[\[{\"'].*[\]},\"';]\s*$|[{}\[\]();]+,?\s*$|//|/\*|\*/|#!"
    r"|.*[)\]}];\s*$|https?://\S+\s*$|!\[|\[!\[|'?/\S+'?\s*$|~~~|```"
    r")"
)

# What programs print and people do not type: object names, progress dots, counts of things done.
_SCREEN = re2.compile(
    r"(?m)\b[0-9a-f]*[0-9][0-9a-f]{6,}\b|\.\.\.$|\b\d+ (?:files?|tests?|errors?|warnings?|insertions?) ?(?:changed|passed|failed|\()|\(\d+\.\d+s\)"
)


# A typed command, or the times of a subtitle: what stands below it in the same paragraph was printed.
_TYPED = re2.compile(r"^\s*(?:\d\d:\d\d:\d\d[,.]\d{3} -->|[❯➜»]|[$%>]|PS [^>\n]{1,60}>|\S+@\S+[:~][^\n]{0,60}[$#%])\s+\S")
# A tag on a line of its own: all up to its end is a block that some program put there.
_OPENED = re2.compile(r"^\s*<([A-Za-z][\w-]{1,40})(?:\s[^<>]{0,200})?>\s*$")
# Where a mail, a licence, a chat or a conversation with an assistant begins: what follows was written elsewhere.
_MAIL = re2.compile(
    r"(?mi)^\W*-{3,} ?(?:forwarded|original|weitergeleitete|ursprüngliche|mensaje|message|mensagem)\b.*-{3,}$"
    r"|^(?:from|von|de|expéditeur):[ \t]+\S.*\n(?:(?:sent|date|to|cc|subject|gesendet|datum|an|betreff|enviado|para|asunto|fecha|à|objet|envoyé|assunto|data):.*\n?){2,}"
    r"|^(?:on|am|el|le|em) .{6,80}\b(?:wrote|schrieb|escribió|a écrit|escreveu)\b.{0,60}:$"
)
_NOTICE = re2.compile(r"(?mi)^\W{0,6}(?:copyright (?:\(c\)|©)|©) ?\d{4}")
_ASSISTANTS = re2.compile(r"(?i)\b(?:chatgpt|gpt-?\d\S*|gemini|copilot|claude|codex|deepseek|coderabbit|cursor|devin|perplexity)\b")
_ROLES = re2.compile(r"(?mi)^\W{0,4}(?:assistant|ai|bot|system|chatgpt|claude|gemini|copilot|model)\W{0,3}:\W{0,3}\s*\S")
_NAME = 25  # characters of the longest name of a speaker
_SPEAKER = re2.compile(r"(?m)^(?:\[[^\]\n]+\][ \t]*)?([^\s:<>|`(\[\]-][^\n:<>|`(\[\]]*):[ \t]+\S")
_STAMPED = re2.compile(
    r"(?m)^[^\W\d][^\n\d:]*[ \t][(\[]?\d{1,2}:\d\d(?::\d\d)?(?:[ \t]*[AaPp]\.?[Mm]\.?)?[)\]]?:?[ \t]*$"
    r"|^[^\W\d][^\n\d:(\[]{0,40}[ \t][(\[]\d{1,2}:\d\d(?::\d\d)?[)\]]:[ \t]+\S"
)
# A line with a day alone: a diary's heading.
_DAY = re2.compile(r"(?i)^\s*(?:#+ )?(?:\pL+,? )?\d{4}-\d\d-\d\d(?:,? \(?\pL+\)?)?:?\s*$")
_FRONT = re2.compile(r"(?m)^---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|-[ \t].*\n){1,20}---[ \t]*$")


class Voice(StrEnum):
    """Whose words a passage is made of."""

    OWN = "own"
    REPORTED = "reported"
    FOREIGN = "foreign"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """The characters ``[start, end)`` of a prompt, and whose words they are."""

    start: int
    end: int
    voice: Voice


def passages(text: str, lexicon: Lexicon) -> tuple[Passage, ...]:
    """The passages of a prompt in order; foreign lines inside a paragraph split it. Only the first 20,000 characters are read."""
    found: list[Passage] = []
    listing = shaped = False
    fenced = document = pasted = False
    block = ""
    begins = _document(text[:LONGEST])
    for start, end in _paragraphs(text[:LONGEST]):
        lines = _lines(text, start, end)
        headings = sum(1 for low, high in lines if _HEADING.match(text[low:high]))
        document = document or end > begins or (headings > 0 and len(text) > 400)
        pasted = pasted and not _resumes(text[start:end], lexicon, after_output=shaped)
        forwarded = _forwards(text[start:end])
        pasted, typed = pasted or forwarded, False
        runs: list[tuple[int, int]] = []
        strange = 0
        for low, high in lines:
            line = text[low:high]
            opened = _OPENED.match(line)
            typed = typed or bool(_TYPED.match(line))
            if _FENCE.match(line):
                fenced = not fenced
                strange += 1
            elif block or opened:
                closes = bool(block) and f"</{block}>" in line
                block = "" if closes else block or str(opened[1] if opened and f"</{opened[1]}>" in text[high:] else "")
                strange += 1
            elif fenced or typed or is_foreign(line):
                strange += 1
            elif runs and runs[-1][1] >= low - 1:
                runs[-1] = (runs[-1][0], high)
            else:
                runs.append((low, high))
        voice = _voice(text[start:end], lexicon)
        shaped = fenced or strange * 2 > len(lines)
        if shaped or document or pasted or (not listing and _is_output(text[start:end], lexicon)):
            found.append(Passage(start=start, end=end, voice=Voice.FOREIGN))
        else:
            found.extend(Passage(start=low, end=high, voice=voice) for low, high in runs)
        tail = text[start:end].rstrip().rsplit("\n", 1)[-1][-200:]
        listing = bool(_INTRO.search(tail)) and not has(lexicon.pasted, tail) and len(text) < 1_500
        pasted = pasted or bool(_INTRO.search(tail) and (has(lexicon.pasted, tail) or _ASSISTANTS.search(tail)))
    return tuple(found)


def _document(text: str) -> int:
    """Where a document begins: its front matter, or the first of several headings or days; behind the text where there is none."""
    front = _FRONT.search(text)
    text = text[: front.start()] if front else text
    fenced, at, first = False, 0, -1
    for line in text.splitlines(keepends=True):
        fenced = fenced != bool(_FENCE.match(line))
        if not fenced and (_HEADING.match(line) or _DAY.match(line)):
            if first >= 0:
                return first
            first = at
        at += len(line)
    return len(text)


def _forwards(paragraph: str) -> bool:
    """Whether a paragraph begins a mail, a licence, a chat between others, or a conversation with an assistant."""
    if _MAIL.search(paragraph) or _NOTICE.search(paragraph) or _ROLES.search(paragraph) or _STAMPED.search(paragraph):
        return True
    names = [match[1].casefold() for match in _SPEAKER.finditer(paragraph) if len(match[1]) <= _NAME]
    return len(names) > 2 and 1 < len(set(names)) < len(names)


def is_foreign(line: str) -> bool:
    """Whether a line has the shape of code, output, a diff, a table, a quote or a heading rather than of prose."""
    if _FOREIGN.match(line) or _HEADING.match(line) or "\t" in line.strip():
        return True
    dense = [char for char in line if not char.isspace()]
    if len(dense) < 8:
        return False
    marks = sum(1 for char in dense if not (char.isalnum() or char in ".,:;!?'\"’“”()-/`_#@&%~…*、。，！？：；（）「」"))
    return marks * 5 > len(dense)


def _is_output(paragraph: str, lexicon: Lexicon) -> bool:
    """Whether a paragraph was copied off a screen: padded or indented throughout, or short lines in which nobody speaks."""
    lines = paragraph.splitlines()
    indented = all(line.startswith(("    ", "\t")) for line in lines) or (
        len(lines) > 1 and all(line.startswith("  ") for line in lines)
    )
    if indented or any(line.endswith(" " * 8) for line in lines):
        return True
    speaks = has(lexicon.person, paragraph)
    return not speaks and (bool(_SCREEN.search(paragraph)) or (len(lines) > 2 and all(len(line.split()) < 9 for line in lines)))


def _paragraphs(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at, open_at = 0, -1
    for line in text.splitlines(keepends=True):
        if line.strip():
            open_at = at if open_at < 0 else open_at
        elif open_at >= 0:
            spans.append((open_at, at))
            open_at = -1
        at += len(line)
    if open_at >= 0:
        spans.append((open_at, at))
    return spans


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    spans, at = [], start
    for line in text[start:end].splitlines(keepends=True):
        spans.append((at, at + len(line.rstrip("\r\n"))))
        at += len(line)
    return spans


def _resumes(paragraph: str, lexicon: Lexicon, *, after_output: bool) -> bool:
    """Whether the person speaks again after something pasted: short, in the first or second person, not in a reviewer's voice. After
    pasted prose they must also ask, or write as people type: without a capital.
    """
    if not after_output and "?" not in paragraph and not paragraph.lstrip()[:1].islower():
        return False
    words = len(paragraph.split())
    return words <= 60 and has(lexicon.person, paragraph[:60]) and not has(lexicon.review, paragraph)


def _voice(paragraph: str, lexicon: Lexicon) -> Voice:
    """Reported: a reviewer's phrases, or long faultless prose in which nobody speaks or is spoken to."""
    if has(lexicon.review, paragraph) or has(lexicon.passed_on, paragraph):
        return Voice.REPORTED
    long = len(paragraph.split()) >= 25 and paragraph.lstrip()[:1].isupper() and paragraph.rstrip().endswith((".", "。"))
    return Voice.REPORTED if long and not has(lexicon.person, paragraph) else Voice.OWN
