"""Failed commands paired with the later command that shows them mended, and the difference between the two.

The same check must fail and then pass: the same step again after a change around it, the same program called another way, or
another program in its place. Never any failure followed by any success.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from kept.model.event import Author, Event, Kind
from kept.model.failure import fingerprint, fingerprints, place_of, readable, rule_of, weight
from kept.model.text import one_line
from kept.stages.extract.actions import Command, Edit, changed_line, configures
from kept.stages.extract.causes import cause_in, lasting, words_of
from kept.stages.extract.commands import VIEWERS, Step, difference, is_setting, unquoted, weightiest
from kept.stages.extract.phrasing import COMMAND_CHARS, compose, compose_rule, fit, shown_command, shown_pipe, ticked
from kept.stages.extract.toolwords import (
    ABSENT_PATH,
    CHOOSES,
    INTERPRETERS,
    LACKING,
    LAYOUT,
    MACHINE,
    MISUSED,
    PREPARES,
    PRESCRIBES,
    TRANSIENT,
)

LOOKBACK = 300  # events between a failure and its success
_REACH = 60  # commands after a failure among which its success is looked for
_RETRY = 4  # commands after a failure that can still be another way of running it
_TELLING = 3
_COMPLAINT = 5  # heavier lines are typed errors of code
_WORDS_CHANGED = 12


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
class _Pair:
    """A failed command, its error line, the step that failed, and what came of it."""

    failure: Command
    error: str
    culprit: Step
    success: Command
    step: Step
    distance: int
    between: tuple[Command, ...]
    edits: tuple[Edit, ...]
    said: tuple[Event, ...]


def fixes_of(events: Sequence[Event], commands: Sequence[Command], edits: Sequence[Edit]) -> Iterator[Fix]:
    """The fixes of failed commands, in the order of the failures; the first later success of the same check ends each search."""
    for index, failure in enumerate(commands):
        error = (
            next((line for line in failure.errors if failure.stated or weight(line) >= _TELLING), "")
            if failure.passed is False
            else ""
        )
        culprit = failure.culprit
        if not error or culprit is None or culprit.trivial or TRANSIENT.search(error):
            continue
        later = [
            each
            for each in commands[index + 1 : index + 1 + _REACH]
            if each.output.session == failure.output.session and each.place - failure.place <= LOOKBACK
        ]
        found = _success(failure, error, culprit, later)
        if found is None:
            continue
        success, step, distance = found
        pair = _Pair(
            failure=failure,
            error=error,
            culprit=culprit,
            success=success,
            step=step,
            distance=distance,
            between=tuple(each for each in later if each.place < success.place),
            edits=tuple(
                each for each in edits if failure.place < each.place < success.place and each.call.session == failure.output.session
            ),
            said=said_between(events, failure.place, success.place),
        )
        fix = _rerun(pair) if _same(step, culprit) else _rework(pair)
        if fix is not None:
            yield fix


def said_between(events: Sequence[Event], low: int, high: int) -> tuple[Event, ...]:
    """What the assistant said between two events of one session."""
    return tuple(
        event
        for event in events[low + 1 : high]
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and event.session == events[low].session
    )


def _same(left: Step, right: Step) -> bool:
    """Whether a later step is the earlier one again: in another directory of the project it would be another check."""
    elsewhere = left.where not in ("", right.where) and not left.where.startswith(("/", "~", "$"))
    return left.words == right.words and left.settings == right.settings and not elsewhere


def _success(failure: Command, error: str, culprit: Step, later: Sequence[Command]) -> tuple[Command, Step, int] | None:
    """The first later command that shows the failure mended, the step that does, and how many commands later it came."""
    mark = fingerprint(error)
    for distance, each in enumerate(later, 1):
        if mark in fingerprints(each.output.text):
            if each.passed is False and {step.family for step in each.steps} & {culprit.family}:
                return None  # the later failure pairs for itself
            continue
        if each.passed is False:
            continue
        step = next((step for step in each.steps if _same(step, culprit)), None)
        if step is None and any(step.words == culprit.words and step.settings == culprit.settings for step in each.steps):
            continue
        if step is None and distance <= _RETRY:
            kin = (step for step in each.steps if step.family == culprit.family and not step.trivial)
            step = next(kin, None) or _substitute(failure, error, culprit, each)
        if step is not None:
            return each, step, distance
    return None


def _substitute(failure: Command, error: str, culprit: Step, later: Command) -> Step | None:
    """The step that does with another program what a program that is absent, or lacks the option, should have done."""
    if not LACKING.search(error) or culprit.program in {step.program for step in later.steps}:
        return None
    rest = {step.text for step in failure.steps if step is not culprit and not step.trivial}
    operands = {unquoted(word) for word in culprit.words[1:] if len(word) >= 5 and not word.startswith("-")}
    for place, step in enumerate(later.steps):
        neighbours = {other.text for other in later.steps[max(0, place - 1) : place + 2] if other is not step}
        if not step.trivial and (
            operands & {unquoted(word) for word in step.words[1:]} or (step.joint == "|" and rest & neighbours)
        ):
            return step
    return None


def _rework(pair: _Pair) -> Fix | None:
    """The same thing run in another way: another option, quoting, or program."""
    culprit, step, error = pair.culprit, pair.step, pair.error
    gone, new = difference(culprit, step)
    if place_of(error) or rule_of(error) or len(gone) + len(new) > _WORDS_CHANGED:
        return None
    same = step.program == culprit.program
    complains = _complains(error, culprit)
    requoted = _requoted(gone, new, error)
    moved = same and culprit.words[0] != step.words[0]
    flagged = moved or any(word.startswith("-") or is_setting(word) or word == "sudo" for word in (*gone, *new))
    if moved:
        gone, new = gone[1:], new[1:]
    if same and not requoted and not _tells(pair, gone, new, complains=complains, flagged=flagged):
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
        *(("option changed",) if flagged or requoted or not same else ()),
        *(("next attempt",) if pair.distance <= 2 else ()),
        *(("cause stated",) if cause else ()),
    )
    machine = culprit.program in MACHINE and (complains or LACKING.search(error) is not None)
    return replace(_fix(pair, content, signals, working=pair.success, step=step.text, cause=cause), machine=machine)


def _requoted(gone: tuple[str, ...], new: tuple[str, ...], error: str) -> str:
    """The word that the error names, as it was quoted later; empty where quoting is not what changed."""
    return next((word for word in new for old in gone if old in error and word != old and unquoted(word) == unquoted(old)), "")


def _tells(pair: _Pair, gone: tuple[str, ...], new: tuple[str, ...], *, complains: bool, flagged: bool) -> bool:
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


def _rerun(pair: _Pair) -> Fix | None:
    """The same command run again after something was changed around it."""
    culprit, error = pair.culprit, pair.error
    if culprit.program in VIEWERS:
        return None
    rule = rule_of(error)
    if rule:
        return _ruled(pair, rule)
    signals = (*_statuses(pair), "same command passes")
    salient = words_of(readable(error)) - words_of(culprit.program)
    prepared = _preparation(pair, salient)
    if prepared is not None:
        command, step = prepared
        named = bool(salient & words_of(step.text))
        alone = not pair.edits and len([each for each in pair.between if not _looks(each)]) <= 1
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


def _ruled(pair: _Pair, rule: str) -> Fix | None:
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
    left, right = (re.split(r"(\s+|[(,])", line.strip()[:200]) for line in (gone[0], come[0]))
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
    pair: _Pair,
    content: str,
    signals: tuple[str, ...],
    *,
    working: Command,
    step: str = "",
    cause: tuple[Event, str, str] | None = None,
    edit: Edit | None = None,
) -> Fix:
    passed = step or next((each.text for each in working.steps if _same(each, pair.culprit)), "")
    quotes = (
        (pair.failure.output, pair.error),
        (pair.failure.call, pair.culprit.text),
        (working.call, passed),
        *(((edit.call, changed_line(edit)),) if edit else ()),
        *((cause[:2],) if cause else ()),
    )
    return Fix(error=pair.error, content=content, signals=signals, quotes=quotes, success=pair.success.output)


def _statuses(pair: _Pair) -> tuple[str, ...]:
    tool = pair.failure.output.tool
    failed = tool is not None and (tool.ok is False or bool(tool.exit_code))
    return (
        "error text",
        *(("exit status of the failure",) if failed else ()),
        *(("exit status of the success",) if pair.success.stated else ()),
    )


def _preparation(pair: _Pair, salient: frozenset[str]) -> tuple[Command, Step] | None:
    """The passed step that made ready what the failed one needed: preferably one that names it."""
    found = [
        (each, step)
        for each in (*pair.between, pair.success)
        for step in each.steps
        if (step.family[1] in PREPARES or step.program in PREPARES) and not any(_same(step, own) for own in pair.failure.steps)
    ]
    return next((each for each in found if salient & words_of(each[1].text)), found[-1] if found else None)


def _looks(command: Command) -> bool:
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


def _cause(pair: _Pair) -> tuple[Event, str, str] | None:
    """Where a cause is stated: the event, its verbatim sentence, and what of it lasts; one that lasts is preferred."""
    about = words_of(readable(pair.error)) | words_of(pair.culprit.text[:200]) | frozenset(pair.culprit.words)
    causes = [(event, found, lasting(found)) for event in pair.said if (found := cause_in(event.text, about=about))]
    return next((each for each in causes if each[2]), causes[0] if causes else None)


def checks(command: Command) -> bool:
    """Whether a command that passed tests something: it neither only reads nor only prepares or keeps."""
    main = weightiest(command.steps)
    return (
        command.passed is not False
        and main is not None
        and not _looks(command)
        and main.program not in ("git", "gh", "rm", "mv", "cp", "mkdir", "chmod", "touch", "cat")
        and main.family[1] not in PREPARES - {"build"}
    )
