"""Lines that programs print and people do not type: logs, stacks, diffs, tables, code, prompts and marks of tools. Judged by shape
alone.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from kept.core.pattern import Pattern
from kept.core.spans.words import has_word

_LEVELS = "trace|debug|info|notice|warn(?:ing)?|error|fatal|critical|severe|panic|fail(?:ed|ure)?|exception|uncaught|remote"
_SHAPES = Pattern(
    r"(?i)^\s*(?:"
    # Diffs, numbered listings.
    r"diff --git |@@ |(?-i:-\p{Lu})|\+\+\+ |--- |index [0-9a-f]{6,}|\+\s?\S|\d+ *[+-] ?\S|\d+\s*[→|│]|\d+ {2,}\S|[+-]\d+(?:\s|$)"
    r"|\|.*\||\+-{3,}|[-=_*~]{6,}\s*$|<[!?/a-z][^<>]*>.*[>;]\s*$|<[!?/a-z][^>]*>\s*$"  # tables, rulers, markup
    r"|[❯➜»]\s+\S|\$ \S|>>> |% \w+ |PS [^>\n]{0,60}> ?\S|\S+@\S+[:~][^\n]{0,60}[$#%](?:\s|$)"  # shell prompts
    r"|\[[^\]]*\d[^\]]*\]\s*\S|\[(?:[\w@/-]+:)?[\w@/.-]{2,30}\]\s+\S"  # stamped lines, lines of a tool: [vite] …
    # Stacks.
    r"|= ?(?:help|note|hint):|--> \S+:\d|at \S+ ?\(|at <|at .*:\d+(?::\d+)?\)*$|at async |file \"|caused by:|traceback"
    r"|\.\.\. \d+ more"
    r"|\(anonymous\)|\S{1,60} @ \S+:\d+|await in \S+$|promise\.\w+$"  # a browser's stack
    # Log times.
    r"|\d{4}[-/]\d\d[-/]\d\d(?:[T,]| +(?:[^a-z\s]))|\[?\d\d:\d\d:\d\d"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec) +\d{1,2} \d\d:\d\d"
    r"|(?:\d{1,3}\.){3}\d{1,3}[ :]|(?:get|post|put|patch|delete|head|options) (?:/|https?:)\S*|http/\d"  # servers
    r"|::\w+[^\n:]*::|(?-i:[A-Z][A-Z-]{3,}(?:;[^:\n]{0,80})?:\S)"  # a build's annotations, comments of queries, calendars
    r"|(?:" + _LEVELS + r"|\w*error|\w*exception)\s?(?:\[[^\]]*\]|\([^)]*\)|\s[\w-]*\d+)?\s?(?::|\||-|–|—)\s*\S"
    r"|(?-i:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|PANIC)\b[\s:\[(]|(?:FAIL|PASS|SKIP)(?:\s*:"
    r"|\s+\S*[/.]\S)|(?-i:FAIL|PASS|SKIP)\s*$|OK\s*\("
    # An error page: its status, the banner of the server.
    r"|(?-i:[45]\d\d (?:[A-Z][a-z]+-?){1,2}(?: [A-Z][a-z-]+){1,3}\s*$)"
    r"|[a-z][\w-]+/\d+(?:\.\d+)+(?: \([^)]*\))?(?: server at \S+ port \d+)?\s*$"
    r"|(?:npm|yarn|pnpm|pip|cargo|bun|deno|brew|apt|gem|composer|bundler|nuget|gradle|maven|webpack|vite|rollup|esbuild"
    r"|tsc|eslint|jest|pytest)"
    r"(?:@\S+)?:? (?:warn\w*|err(?:or|!)?|notice|info|verb\w*|deprecated|http|timing)\b"
    r"|\w*warn(?:ing)?: |(?:\w+\.)*\w*(?:warning|error|exception): |error ts\d|[a-z]{1,4}\d{3,5}: |\S+\(\d+,\d+\): "  # compilers
    r"|(?:fehler(?:meldung)?|warnung|erreur|avertissement|errore?|erro|aviso|advertencia|错误|报错|警告|エラー)\s?[:：]\s*\S"
    r"|(?:===|\*\*\*)\s|-{2,3} (?:fail|pass|skip)|(?:fail|pass|ok|run|\?)\s+\S*[/.]\S+|=== (?:run|pause|cont)\b|\(node:\d+\) "
    r"|[✖✗✘✓✔✅❌⨯●⏺⎿•└├│┌┐┘─━═║╔╚╭╮╯╰▪▶▸►☰⠀-⣿█▓▒░✻✢✳✶✽∴※⏵⏸⧉]"
    r"|[\x{1F300}-\x{1FAFF}\x{2600}-\x{26FF}\x{1F000}-\x{1F2FF}]\x{FE0F}?\s*\S"
    r"|\S+\.\w{1,5}(?:\?\S*)?:\d+|[\w./?=&%+@~()-]+:\d+(?::\d+)?(?:\s+\S|\s*$)|commit [0-9a-f]{7,}|[0-9a-f]{7,40} \S"
    r"|(?:author|date|commitdate|merge):\s+\S|[\w -]{2,20}:\t|\S+\s+\|\s+\d+|create mode|total \d+$|[a-z-][rwxst-]{9}\s"
    r"|(?:const|let|var|val)\s+(?:\w+|[{\[][^}\]]*[}\]])\s*(?::\s*[\w<>\[\]]+\s*)?=|(?:async )?(?:def|func|fn|function"
    r"|class|struct|enum|interface|trait|impl)\s+\w+.*[({:<]"
    r"|(?:if|for|while|switch|catch|elif|else if|foreach)\s*\(.*|(?:\} )?else\s*[{:]|(?:return|throw|raise|yield"
    r"|await)\b.*[;(]|import .* from |import [\w.]+$|from [\w.]+ import"
    r"|(?:export|package|public|private|protected|static|abstract|override|using|namespace|#include|#define"
    r"|@import)\s+\S+.*[{;(=>\"]\s*$|package \w+$"
    r"|[\w\"'.$@-]+\s*[:=]\s*[\[{\"'].*[\]},\"';]?\s*$|[\w.$]+\s*=\s*[\w.]+[\[(.]\S|[\[{].{20,}[\]}][,;]?\s*$|[\[{]\s?[\[{'\"]"
    r"|\\?\"[\w -]+\\?\":\s|(?:[^;\n]*;(?:[^ ;\n]|;)){4,}|[{}\[\]();]+,?\s*$|//|/\*|\*/|#!|\.\w[\w-]*\s*\{"
    r"|@\w+(?:\(.*\))?$|\{[%{].*[%}]\}"
    r"|(?-i:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN) .*[;,(*=]"
    r"|['\"]/[^'\"\n]+/[^'\"\n]+['\"]\s*$|[\w.]+(?:, [\w.]+)*\s*:=\s|var \w+(?:, \w+)* \w+$|!\[|\[!\["
    # Paths and words too long to type.
    r"|[\w.~+-]+(?:/[\w.@+$-]+)+\.\w{1,5}\s*$|\S*[:/=;]\S{60,}\s*$"
    r"|'?/\S+'?\s*$|[a-z]:\\\S+\s*$"
    r"|(?:go|git|docker|make(?:\[\d+\])?|curl|ssh|bash|zsh|sh|node|python3?|systemd|sudo|nginx|cargo|rustc|ld|gcc|clang"
    r"|rsync|scp|tar|cp|mv|rm|ls|cat|mkdir|chmod|grep|find|sed|kubectl|helm|terraform|psql|javac?|php|ruby"
    r"|hint|npm|yarn|pnpm|pip3?|bun|deno|brew|apt|gem|composer|gradle|maven): \S|failed to [^:\n]{3,60}: \S"
    r"|(?-i:Error) (?:in \S+|(?:while |when )?(?:loading|creating|fetching|parsing|reading|writing|calling)\b[^:]{0,60}): \S"
    r"|(?-i:[A-Z][a-z]+ing) [^.]+(?:\.\.\.|…)\s*$"
    r"|(?-i:No (?:[a-z]+ ){1,2}found\b|Nothing to [a-z]+\.?\s*$)|sudo [a-z]|\w+ id: [0-9a-f-]{16,}"
    # What programs tell their user to do about an error.
    r"|(?-i:Please) (?:try again (?:or|later)\b|make sure (?:that )?you have\b|contact (?:your |support))"
    r"|HEAD is now at |On branch \S+$|Your branch is |nothing to commit|\(use \"git "
    r"|could not apply [0-9a-f]{7}|Switched to (?:a new )?branch |access to \w+ at "
    r"|\s{2,}[\w-]+:(?: \S+)?\s*$|[.FEsx]{5,}\s*$"
    r"|usage: |did you mean |unknown (?:command|option|flag|argument)\b|captured |collected \d|running \d+ "
    r"|\d+ (?:passed|failed|errors?|warnings?|tests?)\b|(?:not )?ok \d+ - "
    # A list of failed tests, by their files.
    r"|[-*•] +`?[\w/-]+\.[\w.-]+`?(?: [-–—]|:) (?:.*\bexpected \S.*\b(?:got|received|but was) |\d+ failures?\b)"
    r")"
)
# A list with the margin that an agent's screen gives it, as it was copied below something: each item begins with a capital.
_SCREEN_LIST = Pattern(
    r"(?m)^  1[.)] +[*`]{0,2}\p{Lu}.*\n(?:(?:   .*\S.*|[ \t]*)\n)*  2[.)] +[*`]{0,2}\p{Lu}.*(?:\n(?:  .*\S.*|[ \t]*)$)*"
)
# How lines of code end, unless somebody speaks in them.
_ENDS = Pattern(r"[)\]}\w'\"];\s*$|[^\s:]\s?\{\s*$|=>\s*\{?$|\\\s*$")
_STRONG_INSIDE = Pattern(
    r"\b[0-9a-f]*[0-9][0-9a-f]{6,}\b|\.\.\.\s*$|\b\d+ (?:files?|tests?|errors?|warnings?|insertions?) ?(?:changed|passed"
    r"|failed|\()|\(\d+\.\d+s\)|\s{8,}\S"
)
# An address alone, which a person puts beside their request.
_ADDRESS = Pattern(r"^\s*@?https?://\S+\s*$")
# A file that somebody hands to an assistant, its lines named or not, alone or before words.
_MENTION = Pattern(r"^@[\w.~-]*/(?:\S*[\w-]\.\w{1,5}(?:[:#]L?\d[\dL:-]*)?\s*$|\S+\s+\p{Ll}+ )")
# Somebody who speaks of themselves behind the name of a level: "debug: I am seeing …".
_CONFIDED = Pattern(r"^\p{Ll}+: (?:I|i|ich|je|yo|eu)(?:'\pL+)? \pL")
_INDENTED = Pattern(r"^(?: {4,}|\t)\S")
# Data that somebody describes: behind an equals sign and outside of strings stand words in a row, none of them of code.
_ASSIGNED = Pattern(r"^[\w.]+\s?=\s")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_WORDS = Pattern(r"\b(?:\p{Ll}+ ){3}\p{Ll}+")
_CODE_WORDS = frozenset(
    {"for", "in", "if", "is", "not", "and", "or", "else", "as", "from", "import", "await", "new", "where", "do", "end", "then"}
)
# Characters that prose does without.
_MARKS = re.compile(r"[^\w\s.,:;!?'\"’“”()\-/`#@&%~…*、。，！？：；（）「」<>=¿¡«»]")
_BULLET = Pattern(r"^\s*(?:[-*•]|\d{1,2}[.)]|[a-zA-Z][.)])\s")
# After these marks of an agent's screen, indented and wrapped lines go on with what was shown.
_SCREEN = Pattern(r"(?m)^[ \t]*[⏺●⎿✻]\s*\S|^[ \t]*⎿")


@lru_cache(maxsize=512)  # several rules ask this of each line
def is_output_line(line: str) -> bool:
    """Whether a line has the shape of something a program printed, of code, of a diff or of a table."""
    if (line.startswith("@") and _MENTION.match(line)) or _ADDRESS.match(line) or _CONFIDED.match(line) or _is_described(line):
        return False
    if _SHAPES.match(line) or "\t" in line.strip() or (_ENDS.search(line) and not has_word("person", line)):
        return True
    dense = sum(map(len, line.split()))
    return dense >= 8 and len(_MARKS.findall(line)) * 5 > dense


def _is_described(line: str) -> bool:
    rows = _WORDS.finditer(_STRING.sub("", line)) if _ASSIGNED.match(line) else ()
    return any(_CODE_WORDS.isdisjoint(row[0].split()) for row in rows)


def is_list_item(line: str) -> bool:
    """Whether a line is an item of a list."""
    return bool(_BULLET.match(line))


def is_indented(line: str) -> bool:
    """Whether a line is set off as a block of code is."""
    return bool(_INDENTED.match(line)) and not is_list_item(line)


def has_inline_output(text: str) -> bool:
    """Whether a text holds what programs print inside lines: object names, counts of things done, padding."""
    return bool(_STRONG_INSIDE.search(text))


def find_screen_lists(text: str) -> Iterator[tuple[int, int]]:
    """Where lists stand that were copied off an agent's screen: all of their lines keep its margin and nobody speaks in them."""
    for match in _SCREEN_LIST.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        if above and not above[0].isspace() and not is_list_item(above) and not has_word("person", match[0]):
            yield match.span()


def is_agent_screen(text: str) -> bool:
    """Whether a text was copied from the screen of an agent."""
    return bool(_SCREEN.search(text))
