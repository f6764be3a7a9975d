"""What a pair of a failure and its success says: the remedy as one line, or nothing where no difference explains it.

The same program called another way, another program in its place, the same steps in another order, or the same step again after a preparation or a
change of what configures it. Knows nothing of how the two were found.
"""

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import re2

from kept.model.event import Event
from kept.model.failure import place_of, readable, rule_of, weight
from kept.model.text import one_line
from kept.stages.extract.actions import Command, Edit, changed_line, configures
from kept.stages.extract.causes import cause_in, lasting, words_of
from kept.stages.extract.commands import VIEWERS, Step, difference, is_setting, unquoted
from kept.stages.extract.phrasing import COMMAND_CHARS, compose, compose_rule, fit, shown_command, shown_pipe, ticked
from kept.stages.extract.toolwords import (
    ABSENT_PATH,
    CHOOSES,
    CONTAINERS,
    INTERPRETERS,
    LACKING,
    LAYOUT,
    MACHINE,
    MISUSED,
    PREPARES,
    PRESCRIBES,
    VERSIONED,
)

_COMPLAINT = 5  # heavier lines are typed errors of code
_WORDS_CHANGED = 12
_PIECES = re2.compile(r"(\s+|[(,])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """An error, the line that states its remedy, the signals that speak for it, its evidence, and the event that shows success.

    ``machine`` says that it is about a program of the machine rather than of the project.
    """

    error: str
    content: str
    signals: tuple[str, ...]
    quotes: tuple[tuple[Event, str], ...]
    success: Event
    machine: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A failed command, its error line, the step that failed, and what came of it; ``apart``: in a later session."""

    failure: Command
    error: str
    culprit: Step
    success: Command
    step: Step
    distance: int
    between: tuple[Command, ...]
    edits: tuple[Edit, ...]
    said: tuple[Event, ...]
    apart: bool = False


def remedy_of(pair: Pair) -> Fix | None:
    """The fix that a pair amounts to; None where what changed between the two does not say why it works now."""
    return _rerun(pair) if same(pair.step, pair.culprit) else _rework(pair)


def same(left: Step, right: Step) -> bool:
    """Whether a later step is the earlier one again: in another directory of the project it would be another check."""
    elsewhere = left.where not in ("", right.where) and not left.where.startswith(("/", "~", "$"))
    return left.words == right.words and left.settings == right.settings and not elsewhere


def _rework(pair: Pair) -> Fix | None:
    """The same thing run in another way: another option, quoting, or program."""
    culprit, step, error = pair.culprit, pair.step, pair.error
    gone, new = difference(culprit, step)
    if place_of(error) or rule_of(error) or len(gone) + len(new) > _WORDS_CHANGED:
        return None
    same = step.program == culprit.program
    complains = _complains(error, culprit)
    requoted = _requoted(gone, new, error)
    moved = same and culprit.words[0] != step.words[0]
    newer = same and _another_version(culprit.program, gone, new)
    flagged = moved or any(word.startswith("-") or is_setting(word) or word == "sudo" for word in (*gone, *new))
    if moved:
        gone, new = gone[1:], new[1:]
    if same and not requoted and not newer and not _tells(pair, gone, new, complains=complains, flagged=flagged):
        return None
    cause = _cause(pair)
    working = requoted or shown_pipe(pair.success.steps, step, pair.failure.steps)
    content = compose(
        error,
        shown_command(culprit, gone if not requoted else (unquoted(requoted),)),
        remedy=f"use `{ticked(working)}` instead",
        cause=cause[2] if cause else "",
    )
    signals = (
        *_statuses(pair),
        *(("same program passes",) if same else ("another program passes",)),
        *(("the program itself complains",) if complains else ()),
        *(("version changed",) if newer else ()),
        *(("option changed",) if flagged or requoted or not same else ()),
        *(("next attempt",) if pair.distance <= 2 else ()),
        *(("cause stated",) if cause else ()),
    )
    machine = culprit.program in MACHINE and (complains or LACKING.search(error) is not None)
    return replace(_fix(pair, content, signals, working=pair.success, step=step.text, cause=cause), machine=machine)


def _requoted(gone: tuple[str, ...], new: tuple[str, ...], error: str) -> str:
    """The word that the error names, as it was quoted later; empty where quoting is not what changed."""
    return next((word for word in new for old in gone if old in error and word != old and unquoted(word) == unquoted(old)), "")


def _another_version(program: str, gone: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Whether all that changed is which version of the same thing is asked for; behind a colon only of images, elsewhere it is a port."""
    if not gone or len(gone) != len(new):
        return False
    pairs = [(VERSIONED.match(left), VERSIONED.match(right)) for left, right in zip(gone, new, strict=True)]
    return all(left and right and left[1] == right[1] and (left[2] != ":" or program in CONTAINERS) for left, right in pairs)


def _tells(pair: Pair, gone: tuple[str, ...], new: tuple[str, ...], *, complains: bool, flagged: bool) -> bool:
    """Whether the words that changed say how the program wants to be called, rather than what it was called on."""
    added = bool(new) and not gone and len(new) <= 2
    slipped = len(gone) == len(new) == 1 and _slip(gone[0], new[0])
    if slipped or ABSENT_PATH.search(pair.error) or (pair.culprit.program in VIEWERS and not flagged and not added):
        return False
    if complains:
        return flagged or added or (len(gone) == len(new) == 1 and pair.distance <= 2)
    idle = bool(new) and not set(new) - CHOOSES
    return (
        flagged
        and pair.culprit.program not in INTERPRETERS
        and not (pair.edits or gone or len(new) > 3 or idle or any(" " in word for word in new))
    )


def _rerun(pair: Pair) -> Fix | None:
    """The same command run again after something was changed around it."""
    culprit, error = pair.culprit, pair.error
    if culprit.program in VIEWERS:
        return None
    rule = rule_of(error)
    if rule:
        return _ruled(pair, rule)
    signals = (*_statuses(pair), "same command passes")
    first, then = _reordered(pair)
    if first is not None and then is not None and not pair.edits:
        remedy = f"run `{shown_command(first, ())}` before `{shown_command(then, ())}`"
        content = compose(
            error, fit(ticked(one_line(pair.failure.call.text or culprit.text)), COMMAND_CHARS), remedy=remedy, cause=""
        )
        return _fix(pair, content, (*signals, "order of steps changed"), working=pair.success, step=first.text)
    salient = words_of(readable(error)) - words_of(culprit.program)
    prepared = _preparation(pair, salient)
    if prepared is not None:
        command, step = prepared
        named = bool(salient & words_of(step.text))
        # Between two sessions much may have been done that nobody sees here.
        alone = not pair.apart and not pair.edits and len([each for each in pair.between if not looks(each)]) <= 1
        if alone or (named and not place_of(error)):
            there = f"cd {step.where} && " if step.where and not step.where.startswith(("/", "~", "$")) else ""
            remedy = f"run `{fit(ticked(there + one_line(step.text)), COMMAND_CHARS)}` first"
            content = compose(error, shown_command(culprit, ()), remedy=remedy, cause="")
            more = (
                *(("preparation names what was missing",) if named else ()),
                *(("only one thing was done between",) if alone else ()),
            )
            return _fix(pair, content, (*signals, *more), working=command, step=step.text)
    if not pair.edits or not all(configures(each.path) for each in pair.edits):
        return None  # the project's own code was mended: the error cannot come back
    cause = _cause(pair)
    remedy = next((found for each in pair.edits if (found := written(each, error))), "")
    if not remedy and not (cause and cause[2]):
        return None
    content = compose(error, shown_command(culprit, ()), remedy=remedy, cause=cause[2] if cause else "")
    more = (
        "configuration changed",
        *(("cause stated",) if cause else ()),
        *(("remedy stated",) if remedy else ()),
        *(("the error points into code",) if place_of(error) or weight(error) > _COMPLAINT else ()),
    )
    return _fix(pair, content, (*signals, *more), working=pair.success, cause=cause, edit=pair.edits[-1])


def _reordered(pair: Pair) -> tuple[Step | None, Step | None]:
    """The step that came earlier in the success than in the failure, and the one it came before; none where more than the order changed."""
    before, after = (
        [each for each in done.steps if not each.trivial and not each.filters] for done in (pair.failure, pair.success)
    )
    if len(before) < 2 or sorted(each.text for each in before) != sorted(each.text for each in after):
        return None, None
    return next(((right, left) for left, right in zip(before, after, strict=True) if left.text != right.text), (None, None))


def _ruled(pair: Pair, rule: str) -> Fix | None:
    """A linter's rule that rejects a pattern, and what to write instead."""
    name = place_of(pair.error).rsplit("/", 1)[-1]
    edits = sorted(pair.edits, key=lambda each: not (name and each.path.endswith(name)))
    if rule in LAYOUT or not edits or f"({rule})" in pair.success.output.text:
        return None
    about = frozenset({rule.casefold()})
    cause = next(
        (
            (event, found, kept)
            for event in pair.said
            if rule in (found := cause_in(event.text, about=about)) and (kept := lasting(found))
        ),
        None,
    )
    edit, remedy = next(((each, found) for each in edits if (found := written(each, pair.error))), (edits[0], ""))
    command = shown_command(pair.culprit, ())
    message = readable(pair.error)
    if remedy or cause:
        said = cause[2] if cause else ""
        content = compose(pair.error, command, remedy=remedy or said, cause=said if remedy else "")
    elif PRESCRIBES.search(message):
        content = compose_rule(rule, message, command)
    else:
        return None
    signals = (*_statuses(pair), "same command passes", "linter rule", *(("cause stated",) if cause else ()))
    return _fix(pair, content, signals, working=pair.success, cause=cause, edit=edit)


def written(edit: Edit, error: str) -> str:
    """What an edit wrote, in a clause, where one line of it was replaced or added and bears on the error."""
    old, new = edit.old.splitlines(), edit.new.splitlines()
    gone, come = [line for line in old if line not in new], [line for line in new if line not in old]
    if len(come) != 1 or len(gone) > 1 or not edit.old:
        return ""
    if not gone:
        line = one_line(come[0])
        return f"add `{ticked(line)}`" if len(line) <= 80 and words_of(line) & words_of(error) else ""
    line = one_line(come[0])
    if configures(edit.path) and len(line) <= 80:
        return f"set `{ticked(line)}` in `{edit.path.rsplit('/', 1)[-1]}`" if words_of(line) & words_of(error) else ""
    left, right = (_PIECES.split(line.strip()[:200]) for line in (gone[0], come[0]))
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    before, after = (_balanced("".join(side).strip(" ,")) for side in (left, right))
    bears = any(word in error.casefold() for word in words_of(before))
    return (
        f"write `{ticked(after)}` instead of `{ticked(before)}`"
        if bears and len(before) <= 60 and 3 <= len(after) <= 60 and before != after
        else ""
    )


def _balanced(code: str) -> str:
    """A piece of code up to a bracket that it opens and does not close."""
    return code if code.count("(") == code.count(")") else code.split("(", 1)[0]


def _fix(
    pair: Pair,
    content: str,
    signals: tuple[str, ...],
    *,
    working: Command,
    step: str = "",
    cause: tuple[Event, str, str] | None = None,
    edit: Edit | None = None,
) -> Fix:
    passed = step or next((each.text for each in working.steps if same(each, pair.culprit)), "")
    quotes = (
        (pair.failure.output, pair.error),
        (pair.failure.call, pair.culprit.text),
        (working.call, passed),
        *(((edit.call, changed_line(edit)),) if edit else ()),
        *((cause[:2],) if cause else ()),
    )
    return Fix(error=pair.error, content=content, signals=signals, quotes=quotes, success=pair.success.output)


def _statuses(pair: Pair) -> tuple[str, ...]:
    tool = pair.failure.output.tool
    failed = tool is not None and (tool.ok is False or bool(tool.exit_code))
    return (
        "error text",
        *(("exit status of the failure",) if failed else ()),
        *(("exit status of the success",) if pair.success.stated else ()),
        *(("in a later session",) if pair.apart else ()),
    )


def _preparation(pair: Pair, salient: frozenset[str]) -> tuple[Command, Step] | None:
    """The passed step that made ready what the failed one needed: preferably one that names it."""
    found = [
        (each, step)
        for each in (*pair.between, pair.success)
        for step in each.steps
        if (_prepares(step) or _sets(step, salient)) and not any(same(step, own) for own in pair.failure.steps)
    ]
    return next((each for each in found if salient & words_of(each[1].text)), found[-1] if found else None)


def _prepares(step: Step) -> bool:
    """Whether a step makes something ready: by its own name, its subcommand, or the task that it gives a script."""
    tasks = step.words[1:4] if step.program in INTERPRETERS else ()
    return step.family[1] in PREPARES or step.program in PREPARES or not PREPARES.isdisjoint(tasks)


def _sets(step: Step, salient: frozenset[str]) -> bool:
    """Whether a step sets a variable that the error names."""
    return step.words[:1] == ("export",) and any(setting.partition("=")[0].casefold() in salient for setting in step.settings)


def looks(command: Command) -> bool:
    """Whether a command only reads."""
    reads = (("git", "status"), ("git", "log"), ("git", "diff"), ("git", "show"))
    return all(step.trivial or step.program in VIEWERS or step.family in reads for step in command.steps)


def _complains(error: str, culprit: Step) -> bool:
    """Whether the program, or the shell, rejects how it was called."""
    head = error.split(": ", 1)[0].rsplit("/", 1)[-1].strip().casefold()
    shell = error.startswith(("(eval)", "zsh:", "bash:", "sh:", "/bin/"))
    return head == culprit.program.casefold() or shell or (head in ("error", "fatal", "usage") and bool(MISUSED.search(error)))


def _slip(left: str, right: str) -> bool:
    """Whether one word is the other mistyped."""
    return min(len(left), len(right)) >= 4 and SequenceMatcher(a=left[:80], b=right[:80], autojunk=False).ratio() >= 0.8


def _cause(pair: Pair) -> tuple[Event, str, str] | None:
    """Where a cause is stated: the event, its verbatim sentence, and what of it lasts; one that lasts is preferred."""
    about = words_of(readable(pair.error)) | words_of(pair.culprit.text[:200]) | frozenset(pair.culprit.words)
    causes = [(event, found, lasting(found)) for event in pair.said if (found := cause_in(event.text, about=about))]
    return next((each for each in causes if each[2]), causes[0] if causes else None)
