"""The change that made a failed command pass: a step, an edit, or another form of the command, if it is related to the failure.

Each slot of the resulting line is a passage of a command that ran or of a changed text. Unrelated actions are left out: reports,
version control, formatting, and actions that share no name with the error and are not of a kind that repairs such an error.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kept.core.error_fingerprint import error_location, error_message
from kept.core.event import Event
from kept.core.pattern import Pattern
from kept.core.value import dataclass
from kept.extraction.rules import toolwords
from kept.extraction.rules.commands import Command, Edit, Step, is_setting, parse_steps, unquote_word

CHANGE_CHARS = 120
_LINE_CHARS = 70
_LINES = 3
_SPLIT = Pattern(r"[\s'\"`:,;=()<>\[\]{}|!?]+")
_PIECES = Pattern(r"[^A-Za-z0-9_.-]+")
_SILENCED = Pattern(r"(?:\s+(?:\d?>&\d|&?\d?>{1,2}\s*/dev/null|&))+$")
_WRITES = Pattern(r"(?:^|[^0-9&>=-])>{1,2}\s*[\w.~/$]")
_IN_PLACE = Pattern(r"-i\S*|--in-place\S*")
_NAME = Pattern(r"[\d_./@-]")  # a name contains such a character, a word of prose does not
TEMPORARY_PATH = Pattern(r"/tmp/|/var/folders/|mktemp|\$TMP|\\Temp\\")  # noqa: S108 - temporary folders, which are soon gone
# A UUID, a long hash or a date, with or without a prefix of letters ("i-0abc…"), or a short hash, which has a letter and a digit.
_ID = Pattern(
    r"(?i)(?:[a-z]{1,8}[-_])?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{12,64}|20\d\d-?[01]\d-?[0-3]\d(?:[T_-].*)?)"
    r"|[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]*"
)
_ID_CHARS = 7  # minimum characters of an id
_COUNTER = Pattern(r"(?i)--?(?:pid|id|(?:\w+-)?rev(?:ision)?|run(?:-id)?|build|job|generation|serial|since|until|date)")
# Programs that only run the program after them. An error that advises that program leaves them out.
_RUNNER = Pattern(r"^(?:npx|pnpx|bunx|uvx|(?:npm|pnpm|yarn|uv|poetry|pipenv|pdm|bundle) (?:run|exec)|python3? -m) (?:-y |--yes )?")
_LOOP = Pattern(r"(?:for|while|until|if|case|do|then)\b")
_CODED = Pattern(
    r"\b[A-Z]{1,5}-?\d{3,5}\b|\[[a-z]+-[\w-]+\]$|site-packages|dist-packages|/lib/python|node_modules|module '\w+' has no attribute"
)
_VERSION = Pattern(r"\d+(?:\.\d+)*")
_TELLING = 4  # letters from which a name is also searched within words
_SHORTEST = 3  # minimum letters of a name
_ADVICE = 8  # minimum characters of a command that an output advises


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A failed command: its most informative error line, verbatim, and the step that failed."""

    command: Command
    error: str
    step: Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """The change that helped, as a clause with verbatim code, and the calls and passages that prove it.

    ``rank`` says how closely the change is related to the failure. ``action`` is its last command or edit; ``edit`` is that action
    if it is an edit.
    """

    clause: str
    proof: tuple[tuple[Event, str], ...]
    rank: int
    action: Command | Edit
    edit: Edit | None = None


def format_code(text: str) -> str:
    """Format a verbatim passage as inline code. If it contains backticks, put it in quotation marks instead."""
    return f"“{text}”" if "`" in text else f"`{text}`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Failures:
    """The failures at the end of a session. ``open`` means that one of them was not fixed, so that a later session may fix it.
    ``programs`` failed. ``lacking`` means that a program or an option was missing, so that any other program may replace it.
    """

    open: bool
    programs: frozenset[str]
    lacking: bool


def may_fix(events: Sequence[Event], failures: Sequence[Failures]) -> bool:
    """False if no command among the events can be a repetition, a variant or a replacement of a step that failed before. Only looks
    whether a command names a program, because parsing all commands takes longer than looking for fixes in some in vain.
    """
    if any(each.lacking for each in failures):
        return True
    programs = frozenset[str]().union(*(each.programs for each in failures))
    lines = {unquote_word(event.tool.target) for event in events if event.tool}
    return any(program in line for line in lines for program in programs)


def is_same_step(left: Step, right: Step) -> bool:
    """True if a later step repeats an earlier one in the same directory. In another directory it would be another check."""
    return left.words == right.words and left.settings == right.settings and left.where in ("", right.where)


def strip_redirections(command: str) -> str:
    """A command without trailing redirections that only merge or discard its output."""
    return str(_SILENCED.sub("", command))


def names_passing_value(failure: Failure, remedy: Remedy) -> bool:
    """True if the remedy names a value that only this time had: an id, a revision, a process or a date that is not in the failed
    command. The next failure will need another one.
    """
    steps = [step for _, passage in remedy.proof for step in parse_steps(passage)] if remedy.edit is None else []
    return any(
        item not in failure.command.text
        and ((len(item) >= _ID_CHARS and _ID.fullmatch(item)) or (_is_number(word, before) and not _chooses_version(step)))
        for step in steps
        for before, word in pairwise(("", *map(unquote_word, step.words)))
        for item in _SPLIT.split(word.replace("/", " "))
    )


def _is_number(word: str, before: str) -> bool:
    """True if a word is a number by itself, or the value of an option that counts. That of another option is a setting."""
    name, _, value = word.rpartition("=")
    option = name or before
    return value.isdigit() and (_COUNTER.fullmatch(option) is not None if option.startswith("-") else not name)


def _chooses_version(step: Step) -> bool:
    """True if the numbers of a step are versions or modes."""
    bump = next(verb for _, verb in toolwords.KINDS if verb.fullmatch("bump"))
    return step.program == "chmod" or any(map(bump.fullmatch, _find_verbs(step)))


# --- Actions between failure and success


def find_remedy(failure: Failure, between: Sequence[Command], edits: Sequence[Edit], success: Command) -> Remedy | None:
    """The last action related to the failure, between the failure and the success of the same command; None if there is none."""
    remedies = [done for command in (*between, success) if (done := _find_command_remedy(failure, command, success))]
    step = max(reversed(remedies), key=lambda done: done.rank, default=None)  # the last one of equal rank
    change = _find_edit_remedy(
        failure, edits, alone=step is None and not any(_find_changing_steps(failure, each, success) for each in between)
    )
    if step is None or change is None:
        return step or change
    if change.rank < _NAMED:
        return step
    if step.rank > _KIND or change.action.place > step.action.place:
        return step if step.action.place > change.action.place else change
    # A manifest was edited, and then its packages were installed. The fix needs both.
    clause = f"{change.clause}, then {step.clause.removesuffix(' first')}"
    return Remedy(clause=clause, proof=(*change.proof, *step.proof), rank=change.rank, action=step.action, edit=change.edit)


_KIND, _NAMED, _ADVISED = 1, 2, 3


def _find_command_remedy(failure: Failure, command: Command, success: Command) -> Remedy | None:
    """The remedy in a command between failure and success: its steps that are related to the failure. None if no step is."""
    changing = _find_changing_steps(failure, command, success)
    rank = max((_rate_relevance(failure, step) for step in changing), default=0)
    best = next((step for step in reversed(changing) if rank and _rate_relevance(failure, step) == rank), None)
    return _build_step_remedy(command, changing, best, rank) if best else None


def _find_changing_steps(failure: Failure, command: Command, success: Command) -> list[Step]:
    """The steps of a command that have side effects and are no step of the failure. In the success, only those before the check;
    in a command that failed, none.
    """
    own = {step.text for step in failure.command.steps}
    check = next((place for place, step in enumerate(command.steps) if is_same_step(step, failure.step)), 0)
    steps = command.steps[: check if command is success else None] if command.passed is not False else ()
    return [step for step in steps if step.text not in own and has_side_effects(step) and not is_dry_run(step)]


def _build_step_remedy(command: Command, changing: Sequence[Step], best: Step | None, rank: int) -> Remedy | None:
    """The remedy that runs the changing steps of a command, or the ``best`` one if they are long. None if that is long, too."""
    text = _find_passage(command, changing)
    if best is not None and (not text or len(text) > CHANGE_CHARS or "\n" in text):
        text = strip_redirections(best.text)
    if not text or len(text) > CHANGE_CHARS or "\n" in text or text.endswith("\\") or TEMPORARY_PATH.search(text):
        return None
    return Remedy(clause=f"run {format_code(text)} first", proof=((command.call, text),), rank=rank, action=command)


def find_sole_remedy(failure: Failure, between: Sequence[Command], edits: Sequence[Edit], success: Command) -> Remedy | None:
    """The only action between a failure and its success, although nothing relates it to the failure, with rank 0.

    None if there are several actions, or if other steps than this one repair such errors. An edit of code counts only if the failed
    command is no check and does not name the file, because all others mend work in progress.
    """
    acts = [(each, steps) for each in (*between, success) if (steps := _find_changing_steps(failure, each, success))]
    if len(acts) + len(edits) != 1:
        return None
    if edits:
        name, clause = file_name(edits[0].path), _describe_edit(edits[0])
        configures = toolwords.CONFIG.fullmatch(name) or (
            has_side_effects(failure.step) and name not in failure.command.output.text
        )
        return _build_edit_remedy(edits[0], clause, 0) if clause and configures else None
    lines = "\n".join((failure.error, *failure.command.errors))
    ((command, steps),) = acts
    return None if any(symptom.search(lines) for symptom, _ in toolwords.KINDS) else _build_step_remedy(command, steps, None, 0)


def is_dry_run(step: Step) -> bool:
    """True if a step only simulates its effect."""
    return any(toolwords.REHEARSES.fullmatch(word) for word in step.words[1:])


def _find_passage(command: Command, changing: Sequence[Step]) -> str:
    """The part of the command line from the first to the last changing step, with a pipe or ``cd`` before it."""
    first = command.steps.index(changing[0])
    while first and (command.steps[first].joint == "|" or (command.steps[first - 1].program == "cd" and changing[0].where)):
        first -= 1
    start = command.text.find(command.steps[first].text)
    end = command.text.find(changing[-1].text, max(start, 0))
    return strip_redirections(command.text[start : end + len(changing[-1].text)]) if start >= 0 <= end else ""


def has_side_effects(step: Step) -> bool:
    """True if a step may change what another command needs. Reading, reporting, formatting and version control do not."""
    if _LOOP.match(step.text):
        return False
    if _WRITES.search(step.text):
        return True
    if step.trivial:
        return step.words[:1] in (("source",), (".",)) or bool(step.settings)
    words = [unquote_word(word) for word in step.words]
    if step.program == "xargs":
        words = [word for word in words[1:] if not word.startswith("-")] or [""]
    program = words[0].rsplit("/", 1)[-1]
    if program in ("sed", "perl"):
        return any(_IN_PLACE.fullmatch(word) for word in words[1:])
    if (
        toolwords.LOOKERS.fullmatch(program)
        or toolwords.REPORTS.fullmatch(program)
        or program == "gh"
        or toolwords.CARRIERS.fullmatch(program)
    ):
        return False
    task = [word for word in words[1:4] if not word.startswith("-") and word not in ("run", "exec", "compose", "-m")]
    head = task[0].split(":", 1)[0] if task else ""
    if program == "git":
        return not (toolwords.KEEPS.fullmatch(head) or toolwords.REPORTS.fullmatch(head))
    if toolwords.REPORTS.fullmatch(head):
        return program in ("open", "sudo")
    adds = head in ("add", "install")  # "uv add pytest" installs pytest and runs no tests
    return adds or not (
        program in ("npx", "bunx", "uvx", "uv", "poetry") and len(task) > 1 and toolwords.REPORTS.fullmatch(task[1])
    )


def _rate_relevance(failure: Failure, step: Step) -> int:
    """A rank for how closely a step is related to a failure: the output advises it, it shares a name with the error, or its kind
    repairs such errors. 0 if unrelated.
    """
    text = strip_redirections(step.text)
    output = failure.command.output.text
    if any(len(advice) >= _ADVICE and advice in output for advice in (text, _RUNNER.sub("", text))):
        return _ADVISED
    lines = "\n".join(failure.command.errors) or failure.error
    verbs = _find_verbs(step)
    kinds = [verb for symptom, verb in toolwords.KINDS if symptom.search(lines)]
    fits = any(verb.fullmatch(word) for verb in kinds for word in verbs)
    names = _find_telling_names(failure) if fits else frozenset(name for name in _find_telling_names(failure) if _NAME.search(name))
    named = bool(names & _find_words(step.text)) or any(len(name) > _TELLING and name in step.text.casefold() for name in names)
    sets = any(is_setting(word) and word.partition("=")[0].casefold() in _find_telling_names(failure) for word in step.words)
    if sets or (named and (fits or not kinds or step.trivial or step.settings)):
        return _NAMED
    if (
        step.program == failure.step.program
        and not toolwords.GENERAL.fullmatch(step.program)
        and step.family != failure.step.family
    ):
        return _NAMED if any(verb.fullmatch(word) for _, verb in toolwords.KINDS for word in verbs) else 0
    return _KIND if fits else 0


@lru_cache(maxsize=1024)
def _find_verbs(step: Step) -> frozenset[str]:
    """The words that say what a step does: its program and its first words, whole and split into their parts."""
    words = [unquote_word(word) for word in (*step.words[:7], *step.settings) if len(word) <= 60]
    whole = {word.rsplit("/", 1)[-1] for word in words}
    pieces = {piece for word in whole for piece in _PIECES.split(word)} | {
        piece for word in whole for piece in word.replace(".", "-").split("-")
    }
    return frozenset(word for word in whole | pieces | ({"run"} if step.text.rstrip().endswith("&") else set()) if word)


@lru_cache(maxsize=256)
def _find_words(text: str) -> frozenset[str]:
    found: set[str] = set()
    for token in _SPLIT.split(text[:1_000].casefold()):
        word = token.strip(".-@/\\")
        last = word.rsplit("/", 1)[-1]
        stem = last.rsplit(".", 1)[0] if "/" in word else last
        found |= {word, last, stem}
    return frozenset(word for word in found if len(word) >= _SHORTEST and not toolwords.UNTELLING.fullmatch(word))


def _find_telling_names(failure: Failure) -> frozenset[str]:
    """The names in an error that are not in the failed command."""
    lines = "\n".join(error_message(line) for line in failure.command.errors) or error_message(failure.error)
    return _find_words(lines) - _find_words(failure.step.text) - {failure.step.program.casefold()}


# --- Edits between failure and success


def _find_edit_remedy(failure: Failure, edits: Sequence[Edit], *, alone: bool) -> Remedy | None:
    """The last small edit related to a failure: of a configuration file, or of one line of code if the error says how to write it.
    None if there is none.
    """
    settings = [edit for edit in edits if toolwords.CONFIG.fullmatch(file_name(edit.path))]
    for edit in reversed(settings):
        clause = _describe_edit(edit)
        name = file_name(edit.path).casefold()
        named = _is_edit_named(failure, edit) or (len(name) >= _TELLING and name in failure.error.casefold())
        if clause and (named or (len(edits) == 1 and _is_bump(failure, edit))):
            return _build_edit_remedy(edit, clause, _NAMED)
    if settings or not alone or len(edits) != 1:
        return None
    edit = edits[0]
    lines = "\n".join((failure.error, *failure.command.errors))
    pointed = file_name(error_location(failure.error)) in ("", file_name(edit.path)) or _is_edit_named(failure, edit)
    clause = _describe_edit(edit) if pointed and edit.old and _CODED.search(lines) and toolwords.PRESCRIBES.search(lines) else None
    return _build_edit_remedy(edit, clause, _KIND) if clause else None


def _is_bump(failure: Failure, edit: Edit) -> bool:
    """True if the output complains about a version, and an edit only changes a version."""
    before, after = changed_lines(edit)
    return _VERSION.sub("", "".join(before)) == _VERSION.sub("", "".join(after)) and any(
        symptom.search(failure.command.output.text) for symptom, verb in toolwords.KINDS if verb.fullmatch("bump")
    )


def _build_edit_remedy(edit: Edit, clause: tuple[str, tuple[str, ...]], rank: int) -> Remedy:
    return Remedy(clause=clause[0], proof=tuple((edit.call, line) for line in clause[1]), rank=rank, action=edit, edit=edit)


def _is_edit_named(failure: Failure, edit: Edit) -> bool:
    gone, come = changed_lines(edit)
    return any(_find_telling_names(failure) & _find_words(line) for line in [*come, *gone][:6])


def _describe_edit(edit: Edit) -> tuple[str, tuple[str, ...]] | None:
    """An edit of one line, or that adds up to three, as a clause, with the passages it quotes; None if it changed more."""
    gone, come = changed_lines(edit)
    name = file_name(edit.path)
    if any(toolwords.LESSENS.fullmatch(word) for line in come for word in line.split()):
        return None  # a weaker check mends nothing
    if name and not gone and 1 < len(come) <= _LINES and sum(map(len, come)) <= CHANGE_CHARS:
        return f"add {' and '.join(map(format_code, come))} to `{name}`", tuple(come)
    if not name or len(come) > 1 or len(gone) > 1 or not (come or gone):
        return None
    before, after = (lines[0] if lines else "" for lines in (gone, come))
    if max(len(before), len(after)) > _LINE_CHARS:
        end = next((at for at, (left, right) in enumerate(zip(before, after, strict=False)) if left != right), len(before))
        start = max(before.rfind(" ", 0, end), before.rfind("/", 0, end)) + 1  # a long line is shown from its first changed word
        before, after = before[start:], after[start:]
    if max(len(before), len(after)) > _LINE_CHARS:
        return None
    if before and after:
        return f"change {format_code(before)} to {format_code(after)} in `{name}`", (after, before)
    if after:
        return f"add {format_code(after)} to `{name}`", (after,)
    return f"remove {format_code(before)} from `{name}`", (before,)


def changed_lines(edit: Edit) -> tuple[list[str], list[str]]:
    """The lines that an edit removed, and the lines that it added."""
    old, new = _clean_lines(edit.old), _clean_lines(edit.new)
    return [line for line in old if line not in new], [line for line in new if line not in old]


def _clean_lines(text: str) -> list[str]:
    """The non-empty lines of a text. Commas at their ends are removed, because they depend on the next line."""
    return [line.strip().rstrip(",") for line in text.splitlines() if line.strip()]


def file_name(path: str) -> str:
    """The name of a file without its folder."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]
