"""Whether what helped places a package that the failure does not name: whoever repeats it would run a stranger's code.

A name counts where an error line says that it is missing, or where the failed command asks for it itself. A module whose package
has another name is known by the short list below alone; whatever else is placed waits for a person.
"""

from collections.abc import Iterable, Iterator, Sequence

from kept.core.pattern import Pattern
from kept.extraction.rules.commands import Step, steps_of, unquote_word
from kept.extraction.rules.toolwords import CONFIG, MANIFEST, NAMES, PACKAGES, UNTELLING

_PIECE = Pattern(r"[a-z]\w{3,}")
_ENDING = Pattern(r"(?:[\d.]+|\.exe|\.cmd)$")
# Programs that fetch packages, with the words behind them that do so.
_RUNS = NAMES["runs"]
_FETCHERS = {
    **dict.fromkeys(NAMES["node"], NAMES["node_verbs"] | _RUNS),
    **dict.fromkeys(NAMES["fetchers"], NAMES["fetcher_verbs"]),
    "go": frozenset({"get", "install", "run"}),
}
_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx"})
_LOCAL = Pattern(r"\.{1,2}(?:/[\w./-]*)?(?:\[[\w,-]*\])?|[<>&|)].*|\d[\d.]*")  # or a version
_PACKAGE = Pattern(r"(@?[\w.+/-]+?)(?:\[[\w,.-]*\])?(?:(?:[<>=!~^]{1,2}=?|@)[v^~<>=]*(?:\d[\w.*+,<>=!~^-]*|latest|next))?")
_WRITTEN = Pattern(r"(?:>\s*|\btee\s+(?:-a\s+)?|-i\S*\s.*\s)['\"]?([\w./-]+)")
_INNER = Pattern(r"(?:[$<]\(|`)([^()`]+)")

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
        rf"\b(?:command not found|install|unmet dependency|use of undeclared crate or module):? {_NAME}",
        r"\b(?:missing|requires?|needs?) ['\"`‘“«](@?[\w.+/@~^-]+)['\"`’”»]",
        rf"(?:^|: ){_NAME} (?:is|are) (?:required|missing|needed)\b",
    )
)
_RUN = Pattern(r"^\s*-?\s*(?:RUN\s+|run:\s*)")
# What stands in a manifest for a package: a version behind a name, a name in a list, a call.
_PAIR = Pattern(r"[\"']?([@\w][\w./@-]*)[\"']?\s*[:=]\s*(?:[\"']([^\"']*)[\"']|\{(.*)\})")
_SPEC = Pattern(r"[\^~<>=v ]*\d[\w.*+<>=, |^~-]*|\*|latest|next|")
_ELSEWHERE = Pattern(r"(?i)^[\w+]+:|^[\w.-]+/[\w.-]+(?:#.*)?$|\b(?:git|path|url|package|registry)\s*=|://|\s@\s|=>")
_ASKED = Pattern(
    r"(?:gem|brew|cask|require|implementation|api|\{:|<artifactId>)\s*\(?[\"':]?([\w./:@-]+).*|([\w./-]+) v\d.*"
    r"|[-\s]*[\"']?([A-Za-z@][\w./@-]*)(?:\[[\w,-]*\])?\s*(?:(?:[<>=!~^]=?|@)[^\"']*)?[\"']?"
)


def places_unnamed(passages: Iterable[str], errors: Sequence[str], failed: str) -> bool:
    """Whether a command or line places a package that neither the ``errors`` nor the ``failed`` command name."""
    fetched = [item for passage in passages for item in _fetched(_RUN.sub("", passage))]
    if not fetched:
        return False
    known = _missing(errors) | {_bare_name(name) for name, _ in _fetched(failed)}
    pieces = {piece for line in errors for piece in _PIECE.findall(line.casefold())}
    return not all(_bare_name(name) in known or (runs and _bare_name(name) in pieces) for name, runs in fetched)


def requires_unnamed(name: str, old: str, new: str, errors: Sequence[str]) -> bool:
    """Whether the lines that are new in a file called ``name`` ask for a package that neither ``errors`` nor the old lines name."""
    if not MANIFEST.fullmatch(name.rsplit("/", 1)[-1]):
        return False
    lines = new.splitlines()
    known = _missing(errors) | {_bare_name(item) for line in old.splitlines() for item in _required(line)}
    return not all(_bare_name(item) in known for line in lines if line not in old.splitlines() for item in _required(line))


def _fetched(command: str) -> Iterator[tuple[str, bool]]:
    """The packages that a command fetches, as they are written, and whether it only runs them; what a file of the project lists
    is none.
    """
    for line in (command, *_INNER.findall(command)):
        for step in steps_of(line):
            yield from _of_step(step)
    yield from ((path, False) for path in _WRITTEN.findall(command) if MANIFEST.fullmatch(path.rsplit("/", 1)[-1]))


def _of_step(step: Step) -> Iterator[tuple[str, bool]]:
    words = [unquote_word(word) for word in step.words]
    for place, word in enumerate(words):
        program = _ENDING.sub("", word.rsplit("/", 1)[-1])
        rest = words[place + 1 :]
        verbs = _FETCHERS.get(program, frozenset())
        at = next((index for index, each in enumerate(rest[:5]) if each in verbs), -1)
        if program in NAMES["foreign"] or (at >= 0 and step.program in ("xargs", "parallel")):
            yield " ".join(words), False
        elif program in _RUNNERS or (at >= 0 and rest[at] in _RUNS):
            named = [*_by_option(rest, {*NAMES["naming"]})] or [*_operands(rest[at + 1 :])][:1]
            yield from ((name, True) for name in named)
        elif verbs:
            yield from ((name, False) for name in _by_option(rest, NAMES["naming"] - {"-p"}))
            yield from ((name, False) for name in _operands(rest[at + 1 :]) if at >= 0)
        else:
            continue
        return


def _by_option(words: Sequence[str], options: Iterable[str]) -> Iterator[str]:
    """The packages that options name."""
    for before, word in zip(("", *words), words, strict=False):
        option, equals, value = word.partition("=")
        if before in options or (equals and option in options):
            yield value if option in options else word


def _operands(words: Sequence[str]) -> Iterator[str]:
    """The packages behind a verb."""
    for before, word in zip(("", *words), words, strict=False):
        if before in NAMES["files"] and CONFIG.fullmatch(word.rsplit("/", 1)[-1]):
            continue
        if not (word.startswith("-") or before in NAMES["valued"] or before in NAMES["naming"] - {"-p"} or _LOCAL.fullmatch(word)):
            yield word


def _required(line: str) -> Iterator[str]:
    """The packages that a line of a manifest asks for; the whole line where it takes one from elsewhere, for no error says that."""
    text = line.strip().rstrip(",")
    pair = _PAIR.fullmatch(text)
    if _ELSEWHERE.search((pair.group(2) or pair.group(3) or "") if pair else text):
        yield text
    elif pair:
        if pair.group(1) not in NAMES["settings"] and _SPEC.fullmatch(pair.group(2) or ""):
            yield pair.group(1)
    elif asked := _ASKED.fullmatch(text):
        yield next(filter(None, asked.groups()))


def _missing(errors: Sequence[str]) -> frozenset[str]:
    """What error lines say is missing, in the names that packages may have for it."""
    found: set[str] = set()
    for name in (name for line in errors for shape in _MISSING for name in shape.findall(line)):
        parts = _bare_name(name.rstrip(".:,;")).split("/")
        if parts[0].startswith("@"):
            found.add("/".join(parts[:2]))
        elif "." in parts[0] and len(parts) > 1:  # a Go module, or a package of one
            found |= {"/".join(parts[:end]) for end in range(2, len(parts) + 1)}
        else:
            found |= {parts[0], parts[0].split(".", 1)[0]}
    found = {name for name in found if not UNTELLING.fullmatch(name)}
    others = {package for name in found for package in PACKAGES.get(name, "").split()}
    return frozenset(found | others | {f"@types/{name}" for name in found})


def _bare_name(package: str) -> str:
    """The name of a package without its version, as registries compare names."""
    whole = _PACKAGE.fullmatch(package)
    return str(whole.group(1) if whole else package).casefold().replace("_", "-")
