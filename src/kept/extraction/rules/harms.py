"""Make the text of a fix safe to pass on: cut prose from errors, and find commands that a later agent must not run without asking.

Later sessions see tool output and commands verbatim. A sentence in them would act as an instruction. A command that destroys data
or changes permissions would be repeated. A package that the failure does not name would run a stranger's code. The form of the text
decides: names are single tokens, and several words in a row are prose. A package counts as named if an error line says that it is
missing, or if the failed command itself asks for it. ``packages`` in ``toolwords.toml`` lists modules whose package has another
name. A fix that installs any other package is held for review.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from kept.core.pattern import Pattern
from kept.core.text import NEGATIONS
from kept.extraction.rules import toolwords
from kept.extraction.rules.commands import Step, parse_steps, unquote_word
from kept.profiles.lexicons import word_list

# An opening quotation mark. A group matches if a single token and the closing mark follow, so that the quotation is a name. Cargo
# quotes a name with its version.
_QUOTED = Pattern(
    r"(?:^|[\s(\[{=:,])(?:'([^\s'\"`<>*]*['’])?|\"([^\s\"`<>*]*\")?|`([^\s'\"`<>*]*(?: v\d[\w.+-]*)?[`'])?"
    r"|“([^\s”<>*]*”)?|‘([^\s’<>*]*’)?|«([^»<>*]*»)?)"
)
_MARKUP = Pattern(r"<[/!A-Za-z]|\*\*|\]\(|&[a-z]+;")
_LABEL = Pattern(r"^\S+ ERR! ")  # a prefix of npm; its "!" does not end a sentence
_NEXT = Pattern(r"[.!?;。！？]\s+\S|\s[-–—]\s")
_BINDS = "|".join(sorted(map(re.escape, word_list("assertion", "binds") - NEGATIONS - {"only"})))
_ORDER = Pattern(rf"(?i)(?:^|[,;:(]\s)[^,;:(]*\b(?:{_BINDS})\b(?:\s+\S+){{4}}")
_TOLD = Pattern(rf"(?i)(?:^|[\s'\"=:,(])(?:{_BINDS})(?:\s+[^\W\d_]+){{2}}")
_IN_A_ROW = Pattern(r"(?:(?:^|[\s'\"=:,(])[^\W\d_]+(?:['’][^\W\d_]+)?[,.:;!?]?){7}(?:$|[\s'\"),])")
_ARGUMENT = Pattern(r"\"[^\"]*\"?|'[^']*'?")
_SPOKEN = Pattern(r"[^\W\d_]{2,}[,.:;]?\s+[^\W\d_]{2,}[,.:;]?\s+[^\W\d_]{2,}")
_REMARK = Pattern(r"(?:^|\s)(?:#|//|/\*|<!--)")

_HERE = Pattern(r"^(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::\d+)?(?:/|$)")
_ADDRESS = Pattern(r"(?:\w+\+)?\w+://[^\s'\"]+")
_INNER = Pattern(r"(?:[$<]\(|`)([^()`]+)")
_ACTS = frozenset({"-delete", "-exec", "-execdir", "-ok", "-okdir"})  # actions of find
_PICKS = frozenset({"-name", "-iname", "-path", "-ipath"})
_INLINE = Pattern(r"-[A-Za-z]{0,3}[ceE]|-[ce]\w*\W.*|--eval.*|--print.*")
_ALSO_INLINE = {"php": "-r", "node": "-p"}
_INLINE_SHELL = Pattern(r"-[A-Za-z]{0,3}c")
_OUTSIDE = Pattern(r"^(?:/|~|\$|\.\.|\.$|\./?\*?$|\*|[A-Za-z]:\\)")
_OPENED = Pattern(
    r"[0-7]?[0-7]{2}[2367]|[augo]*[ao][augo]*[+=][rx]*w[rx]*|[+=][rx]*w[rx]*|0?[2-7][0-7]{3}|[ugoa]*[+=][rwxX]*s[rwxXst]*"
)
_PIECES = Pattern(r"[A-Za-z]+")


def cut_error_prose(line: str) -> str:
    """The part of an error line before any prose. It ends at the first quoted text that is not a name, at the first markup, or at
    the end of its first sentence.
    """
    label = _LABEL.match(line)
    head = label[0] if label else ""
    rest = line[len(head) :]
    ends = [found.start() for pattern in (_MARKUP, _NEXT, _ORDER) if (found := pattern.search(rest))]
    ends += [match.start() for match in _QUOTED.finditer(rest) if not any(match.groups())][:1]
    return f"{head}{rest[: min(ends, default=len(rest))]}".rstrip(" .:,;=([{")


def cut_command_prose(command: str) -> str:
    """The part of a command before any text for a reader: a comment, markup, or several words in a row."""
    ends = [match.start() for match in _ARGUMENT.finditer(command) if _SPOKEN.search(match[0])][:1]
    ends += [found.start() for pattern in (_REMARK, _MARKUP, _TOLD, _IN_A_ROW) if (found := pattern.search(command))]
    return command[: min(ends, default=len(command))].rstrip()


def has_prose(passage: str) -> bool:
    """True if a command or a changed line contains a comment or words for a reader."""
    return cut_command_prose(passage) != passage.rstrip()


def is_harmful_command(command: str) -> bool:
    """True if a command destroys data, opens permissions, downloads, or disables a check. Only a person may pass it on."""
    return bool(
        toolwords.WEAKENS.search(command)
        or toolwords.DESTROYS.search(command)
        or any(not _HERE.match(address) for address in _ADDRESS.findall(command))
        or any(map(_is_harmful, parse_steps(command)))
        or any(_is_harmful(step) for inner in _INNER.findall(command) for step in parse_steps(inner))
    )


def _is_harmful(step: Step) -> bool:
    words = [unquote_word(word) for word in step.words]
    if "sudo" in (*step.settings, *words) or "doas" in words:
        return True
    if step.program == "find" and _ACTS & set(words):
        return _is_wide_delete(words) or any(_is_harmful_call(words[place:], "") for place in range(1, len(words)))
    if step.program in toolwords.NAMES["wrappers"]:
        reads_names = step.program in ("xargs", "parallel")
        return (
            (reads_names and bool(toolwords.NAMES["removers"] & set(words)))
            or (not reads_names and _destroys(words))
            or any(_is_harmful_call(words[place:], "" if reads_names else step.joint) for place in range(1, len(words)))
        )
    return _destroys(words) or _is_harmful_call(words, step.joint)


def _is_wide_delete(words: list[str]) -> bool:
    """True if a ``find`` with an action searches outside the current folder, or searches files of any name."""
    first = next(place for place, word in enumerate(words) if place and word[:1] in ("-", "(", "!"))
    picked = any(word in _PICKS and name.strip("*?./") for word, name in pairwise(words))
    return not picked or any(_OUTSIDE.match(root) and root not in (".", "./") for root in words[1:first])


def _is_harmful_call(words: list[str], joint: str) -> bool:
    """True if a command with these words, after the operator ``joint``, is harmful by itself."""
    if not words:
        return False
    program, operands = words[0].rsplit("/", 1)[-1], [word for word in words[1:] if not word.startswith("-")]
    if operands[:1] and (
        operands[0] in toolwords.NAMES["trusts"] or ("config" in words[1:3] and any(map(toolwords.RUNS.search, words[2:])))
    ):
        return True
    if program in toolwords.NAMES["removers"]:
        return any(_OUTSIDE.match(word) for word in operands)
    if program == "chmod":
        return any(_OPENED.fullmatch(word) for word in operands)
    if toolwords.INTERPRETERS.fullmatch(program):
        inline = _INLINE_SHELL if program.endswith("sh") else _INLINE
        options = words[1 : words.index("-m")] if "-m" in words else words[1:]
        return joint == "|" or any(inline.fullmatch(word) for word in options) or _ALSO_INLINE.get(program) in options
    return program in toolwords.NAMES["loaders"] and not (operands and all(_HERE.match(word) for word in operands))


def _destroys(words: list[str]) -> bool:
    """True if a program, subcommand or long option irrevocably destroys something. Deleting a cache does not count."""
    telling = [word for word in words if "/" not in word and (word.startswith("--") or not word.startswith("-"))][:6]
    pieces = {piece.lower() for word in telling for piece in _PIECES.findall(word.partition("=")[0])} - {words[0] if words else ""}
    # ``DESTROYS`` already matches `reset --hard`
    if "dropdb" in words or "cache" in pieces or (words[:1] == ["git"] and "reset" in pieces):
        return "dropdb" in words
    return bool(pieces & toolwords.NAMES["destroyers"]) or (
        bool(pieces & toolwords.NAMES["cleans"]) and not any(map(toolwords.MAKERS.fullmatch, words[:1]))
    )


_PIECE = Pattern(r"[a-z]\w{3,}")
_ENDING = Pattern(r"(?:[\d.]+|\.exe|\.cmd)$")
# Programs that fetch packages, with the subcommands that do so.
_RUNS = toolwords.NAMES["runs"]
_FETCHERS = {
    **dict.fromkeys(toolwords.NAMES["node"], toolwords.NAMES["node_verbs"] | _RUNS),
    **dict.fromkeys(toolwords.NAMES["fetchers"], toolwords.NAMES["fetcher_verbs"]),
    "go": frozenset({"get", "install", "run"}),
}
_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx"})
_LOCAL = Pattern(r"\.{1,2}(?:/[\w./-]*)?(?:\[[\w,-]*\])?|[<>&|)].*|\d[\d.]*")  # a local path, or a version
_PACKAGE = Pattern(r"(@?[\w.+/-]+?)(?:\[[\w,.-]*\])?(?:(?:[<>=!~^]{1,2}=?|@)[v^~<>=]*(?:\d[\w.*+,<>=!~^-]*|latest|next))?")
_WRITTEN = Pattern(r"(?:>\s*|\btee\s+(?:-a\s+)?|-i\S*\s.*\s)['\"]?([\w./-]+)")

_NAME = r"['\"`‘“«]?(@?[A-Za-z0-9_][\w.+/@~^-]*)['\"`’”»]?"
_THINGS = (
    r"modules?|packages?|crates?|gems?|librar(?:y|ies)|plugins?|dependency|dependencies|distribution|extension|formula"
    r"|resolve import|resolve|import|peer of|load such file --|module provides package"
)
_BETWEEN = "command|executable|file|program|module|package|distribution|library|is|was|could|has been"
_MISSING = tuple(
    Pattern(f"(?i){shape}")
    for shape in (
        rf"\b(?:{_THINGS})(?: named| called| for)?:? {_NAME}",
        rf"(?:^|[\s:(]){_NAME}(?::?(?: (?:{_BETWEEN}))*) not (?:be )?(?:found|installed|available|recogni[sz]ed)\b",
        rf"\b(?:command not found|failed to spawn|install|unmet dependency|use of undeclared crate or module):? {_NAME}",
        r"\b(?:missing|requires?|needs?) ['\"`‘“«](@?[\w.+/@~^-]+)['\"`’”»]",
        rf"(?:^|: ){_NAME} (?:is|are) (?:required|missing|needed)\b",
    )
)
_RUN = Pattern(r"^\s*-?\s*(?:RUN\s+|run:\s*)")
# The forms in which a manifest requires a package: a name with a version, a name in a list, a call.
_PAIR = Pattern(r"[\"']?([@\w][\w./@-]*)[\"']?\s*[:=]\s*(?:[\"']([^\"']*)[\"']|\{(.*)\})")
_SPEC = Pattern(r"[\^~<>=v ]*\d[\w.*+<>=, |^~-]*|\*|latest|next|")
_ELSEWHERE = Pattern(r"(?i)^[\w+]+:|^[\w.-]+/[\w.-]+(?:#.*)?$|\b(?:git|path|url|package|registry)\s*=|://|\s@\s|=>")
_ASKED = Pattern(
    r"(?:gem|brew|cask|require|implementation|api|\{:|<artifactId>)\s*\(?[\"':]?([\w./:@-]+).*|([\w./-]+) v\d.*"
    r"|[-\s]*[\"']?([A-Za-z@][\w./@-]*)(?:\[[\w,-]*\])?\s*(?:(?:[<>=!~^]=?|@)[^\"']*)?[\"']?"
)


def installs_unnamed_package(passages: Iterable[str], errors: Sequence[str], failed: str) -> bool:
    """True if a command or line installs a package that neither ``errors`` nor the ``failed`` command names."""
    fetched = [item for passage in passages for item in _find_fetched(_RUN.sub("", passage))]
    if not fetched:
        return False
    known = _find_missing(errors) | {_normalize_package(name) for name, _ in _find_fetched(failed)}
    pieces = {piece for line in errors for piece in _PIECE.findall(line.casefold())}
    return not all(_normalize_package(name) in known or (runs and _normalize_package(name) in pieces) for name, runs in fetched)


def requires_unnamed_package(name: str, old: str, new: str, errors: Sequence[str]) -> bool:
    """True if new lines of the manifest ``name`` require a package that neither ``errors`` nor the old lines name."""
    if not toolwords.MANIFEST.fullmatch(name.rsplit("/", 1)[-1]):
        return False
    lines = new.splitlines()
    known = _find_missing(errors) | {_normalize_package(item) for line in old.splitlines() for item in _find_required(line)}
    return not all(
        _normalize_package(item) in known for line in lines if line not in old.splitlines() for item in _find_required(line)
    )


def _find_fetched(command: str) -> Iterator[tuple[str, bool]]:
    """Yield each package that a command fetches, as written, and whether it only runs it. Packages of a project do not count."""
    for line in (command, *_INNER.findall(command)):
        for step in parse_steps(line):
            yield from _find_fetched_by_step(step)
    yield from ((path, False) for path in _WRITTEN.findall(command) if toolwords.MANIFEST.fullmatch(path.rsplit("/", 1)[-1]))


def _find_fetched_by_step(step: Step) -> Iterator[tuple[str, bool]]:
    words = [unquote_word(word) for word in step.words]
    for place, word in enumerate(words):
        program = _ENDING.sub("", word.rsplit("/", 1)[-1])
        rest = words[place + 1 :]
        verbs = _FETCHERS.get(program, frozenset())
        at = next((index for index, each in enumerate(rest[:5]) if each in verbs), -1)
        if program in toolwords.NAMES["foreign"] or (at >= 0 and step.program in ("xargs", "parallel")):
            yield " ".join(words), False
        elif program in _RUNNERS or (at >= 0 and rest[at] in _RUNS):
            named = [*_find_by_option(rest, {*toolwords.NAMES["naming"]})] or [*_find_operands(rest[at + 1 :])][:1]
            yield from ((name, True) for name in named)
        elif verbs:
            yield from ((name, False) for name in _find_by_option(rest, toolwords.NAMES["naming"] - {"-p"}))
            yield from ((name, False) for name in _find_operands(rest[at + 1 :]) if at >= 0)
        else:
            continue
        return


def _find_by_option(words: Sequence[str], options: Iterable[str]) -> Iterator[str]:
    """Yield the packages that options name."""
    for before, word in zip(("", *words), words, strict=False):
        option, equals, value = word.partition("=")
        if before in options or (equals and option in options):
            yield value if option in options else word


def _find_operands(words: Sequence[str]) -> Iterator[str]:
    """Yield the packages after a subcommand."""
    for before, word in zip(("", *words), words, strict=False):
        if before in toolwords.NAMES["files"] and toolwords.CONFIG.fullmatch(word.rsplit("/", 1)[-1]):
            continue
        if not (
            word.startswith("-")
            or before in toolwords.NAMES["valued"]
            or before in toolwords.NAMES["naming"] - {"-p"}
            or _LOCAL.fullmatch(word)
        ):
            yield word


def _find_required(line: str) -> Iterator[str]:
    """Yield the packages that a manifest line requires. If it uses another source, yield the whole line, which no error names."""
    text = line.strip().rstrip(",")
    pair = _PAIR.fullmatch(text)
    if _ELSEWHERE.search((pair.group(2) or pair.group(3) or "") if pair else text):
        yield text
    elif pair:
        if pair.group(1) not in toolwords.NAMES["settings"] and _SPEC.fullmatch(pair.group(2) or ""):
            yield pair.group(1)
    elif asked := _ASKED.fullmatch(text):
        yield next(filter(None, asked.groups()))


def _find_missing(errors: Sequence[str]) -> frozenset[str]:
    """The missing thing that error lines report, as the set of names that its package may have."""
    found: set[str] = set()
    for name in (name for line in errors for shape in _MISSING for name in shape.findall(line)):
        parts = _normalize_package(name.rstrip(".:,;")).split("/")
        if parts[0].startswith("@"):
            found.add("/".join(parts[:2]))
        elif "." in parts[0] and len(parts) > 1:  # a Go module, or a package in a Go module
            found |= {"/".join(parts[:end]) for end in range(2, len(parts) + 1)}
        else:
            found |= {parts[0], parts[0].split(".", 1)[0]}
    found = {name for name in found if not toolwords.UNTELLING.fullmatch(name)}
    others = {package for name in found for package in toolwords.PACKAGES.get(name, "").split()}
    return frozenset(found | others | {f"@types/{name}" for name in found})


def _normalize_package(package: str) -> str:
    """The name of a package without its version, normalized as registries compare names."""
    whole = _PACKAGE.fullmatch(package)
    return str(whole.group(1) if whole else package).casefold().replace("_", "-")
