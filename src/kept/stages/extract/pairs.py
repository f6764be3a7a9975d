"""Failed commands paired with the later command that shows them mended, and the difference between the two.

The same check must fail and then pass: the same step again after a change around it, the same program called another way, or
another program in its place. Never any failure followed by any success.
"""

from collections.abc import Iterator, Sequence

from kept.model.event import Author, Event, Kind
from kept.model.failure import fingerprint, fingerprints, weight
from kept.stages.extract.actions import Command, Edit
from kept.stages.extract.commands import Step, unquoted, weightiest
from kept.stages.extract.remedies import Fix, Pair, looks, remedy_of, same
from kept.stages.extract.toolwords import LACKING, PREPARES, TRANSIENT

LOOKBACK = 300  # events between a failure and its success
_REACH = 60  # commands after a failure among which its success is looked for
_RETRY = 4  # commands after a failure that can still be another way of running it
_TELLING = 3


def fixes_of(
    events: Sequence[Event], commands: Sequence[Command], edits: Sequence[Edit], *, border: int | None = None
) -> Iterator[Fix]:
    """The fixes of failed commands, in the order of the failures; the first later success of the same check ends each search.

    The events are of one session; where a ``border`` is given, those before that place are of earlier sessions, and only what failed
    before it and passed behind it is a fix.
    """
    for index, failure in enumerate(commands):
        error, culprit = _complaint(failure), failure.culprit
        if not error or culprit is None or culprit.trivial or TRANSIENT.search(error):
            continue
        if border is not None and failure.place >= border:
            return
        within = [each for each in commands[index + 1 : index + 1 + _REACH] if each.place - failure.place <= LOOKBACK]
        later = [each for each in within if border is not None or each.output.session == failure.output.session]
        found = _success(failure, error, culprit, later)
        if found is None or (border is not None and found[0].place < border):
            continue
        success, step, distance = found
        pair = Pair(
            failure=failure,
            error=error,
            culprit=culprit,
            success=success,
            step=step,
            distance=distance,
            between=tuple(each for each in later if each.place < success.place),
            edits=tuple(
                each
                for each in edits
                if failure.place < each.place < success.place
                and (border is not None or each.call.session == failure.output.session)
            ),
            said=said_between(events, failure.place, success.place, apart=border is not None),
            apart=border is not None,
        )
        fix = remedy_of(pair)
        if fix is not None:
            yield fix


def unmended(commands: Sequence[Command]) -> bool:
    """Whether a command failed in a way that something later could mend, and none of those after it shows it mended."""
    for index, failure in enumerate(commands):
        error, culprit = _complaint(failure), failure.culprit
        if error and culprit is not None and not culprit.trivial and not TRANSIENT.search(error):
            found = _success(failure, error, culprit, commands[index + 1 : index + 1 + _REACH])
            if found is None:
                return True
    return False


def _complaint(command: Command) -> str:
    """The most telling error line of a command that failed; empty where it did not, or says nothing."""
    if command.passed is not False:
        return ""
    return next((line for line in command.errors if command.stated or weight(line) >= _TELLING), "")


def said_between(events: Sequence[Event], low: int, high: int, *, apart: bool = False) -> tuple[Event, ...]:
    """What the assistant said between two events of one session; of whatever session where they are ``apart``."""
    return tuple(
        event
        for event in events[low + 1 : high]
        if event.kind is Kind.RESPONSE and event.author is Author.ASSISTANT and (apart or event.session == events[low].session)
    )


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
        step = next((step for step in each.steps if same(step, culprit)), None)
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


def checks(command: Command) -> bool:
    """Whether a command that passed tests something: it neither only reads nor only prepares or keeps."""
    main = weightiest(command.steps)
    return (
        command.passed is not False
        and main is not None
        and not looks(command)
        and main.program not in ("git", "gh", "rm", "mv", "cp", "mkdir", "chmod", "touch", "cat")
        and main.family[1] not in PREPARES - {"build"}
    )
