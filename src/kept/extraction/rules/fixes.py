"""Proven fixes: a command failed, later the same command or its changed form passed, and what was changed in between is named.

Rests on commands that ran and on edits that were made, never on a text that says what would help. The line is a template whose
slots are verbatim: the error, the command and the change. A changed form has other options, variables, quotes, versions, wrappers,
or another program in its place. Whether a candidate becomes a memory is decided elsewhere.
"""

from collections.abc import Callable, Iterator, Sequence

from kept.core.codec import digest
from kept.core.error_fingerprint import error_message, fingerprint_error, fingerprint_errors, linter_rule, score_error_line
from kept.core.event import Author, Event, EventKind, least_trusted
from kept.core.memory import DANGEROUS, UNNAMED, Candidate, Evidence
from kept.core.value import dataclass
from kept.extraction.rules.commands import (
    ASSERTS,
    CARRIERS,
    CHOOSES,
    CONTAINERS,
    LACKING,
    LESSENS,
    LOOKERS,
    MISUSED,
    MUFFLES,
    TAKEN_BACK,
    TAKES_AWAY,
    TRANSIENT,
    VERSIONED,
    Command,
    Done,
    Edit,
    Step,
    actions_of,
    difference,
    is_setting,
    unquote_word,
)
from kept.extraction.rules.harms import is_harmful_command, is_spoken, named_error, places_unnamed, plain_command, requires_unnamed
from kept.extraction.rules.patterns import evidence_of
from kept.extraction.rules.remedies import (
    CHANGE_CHARS,
    PASSING,
    Failure,
    Remedy,
    file_name,
    format_code,
    has_side_effects,
    is_same_step,
    lines_of,
    remedy,
    strip_redirections,
)
from kept.profiles.profile import Profile

_OPERAND = 5  # characters from which a word is not shared by chance


def is_variant(failed: Step, passed: Step) -> bool:
    """Whether a later step is the same thing called in another way: other options, variables, version, wrapper or path of its
    program.
    """
    if failed.where not in ("", passed.where) or CARRIERS.fullmatch(failed.program) or failed.trivial:
        return False
    if failed.program != passed.program:
        return False
    gone, new = _differences(failed, passed)
    if not gone and not new:
        return failed.words[0] != passed.words[0]
    if _is_version_change(failed.program, gone, new) or _is_requoted(gone, new):
        return True
    spoken = any(" " in word for word in (*gone, *new))
    return not spoken and _is_only_options(failed, gone) and _is_only_options(passed, new)


def _differences(failed: Step, passed: Step) -> tuple[tuple[str, ...], tuple[str, ...]]:
    gone, new = difference(failed, passed)
    if failed.words[:1] != passed.words[:1]:
        gone, new = (tuple(word for word in words if word not in (failed.words[0], passed.words[0])) for words in (gone, new))
    return gone, new


def _is_version_change(program: str, gone: Sequence[str], new: Sequence[str]) -> bool:
    """Whether only the version of the same thing differs; behind a colon only of images, elsewhere it is a port."""
    if not gone or len(gone) != len(new):
        return False
    pairs = [(VERSIONED.fullmatch(left), VERSIONED.fullmatch(right)) for left, right in zip(gone, new, strict=True)]
    return all(
        left and right and left[1] == right[1] and (left[2] != ":" or CONTAINERS.fullmatch(program)) for left, right in pairs
    )


def _is_requoted(gone: Sequence[str], new: Sequence[str]) -> bool:
    return bool(gone) and [unquote_word(word) for word in gone] == [unquote_word(word) for word in new]


def _is_only_options(step: Step, words: Sequence[str]) -> bool:
    """Whether all of some words of a step are options or the values behind them; a short option that stays may be a switch without
    one.
    """
    valued = False
    for word in step.words:
        if word == "--":
            valued = False
        elif word in words:
            if not (word.startswith("-") or valued):
                return False
            valued = True
        else:
            valued = word.startswith("--") and "=" not in word
    return True


def is_weakened(failed: Step, passed: Step) -> bool:
    """Whether a later form of a step does less than the failed one."""
    _, new = difference(failed, passed)
    return any(LESSENS.fullmatch(unquote_word(word)) for word in new)


def is_muffled(command: Command, step: Step) -> bool:
    """Whether a step of a command could fail without anyone seeing it: another one follows in that case, or always passes."""
    after = command.steps[command.steps.index(step) + 1 :]
    alternative = bool(after) and after[0].joint == "||"
    ending = bool(after) and after[-1].joint == ";" and after[-1].text in ("true", ":", "exit 0")
    return alternative or ending or MUFFLES.search(step.text) is not None


def find_variant_remedy(failure: Failure, success: Command, step: Step) -> Remedy | None:
    """Another way of calling that passed, as a remedy; None where the difference does not say how the program wants to be
    called.
    """
    failed = failure.step
    if is_weakened(failed, step):
        return None
    gone, new = _differences(failed, step)
    error = failure.error
    complains = MISUSED.search(error) is not None or error.startswith(f"{failed.program}:")
    flags = [word for word in (*gone, *new) if word.startswith("-") or is_setting(word)]
    if flags and all(CHOOSES.fullmatch(word) for word in flags) and not complains:
        return None
    if _is_requoted(gone, new):
        return _replacement_remedy(success, step) if any(unquote_word(word) in error for word in new) else None
    if LOOKERS.fullmatch(failed.program) and not complains and not LACKING.search(error):
        return None
    if gone and not new and not any(unquote_word(word).split("=", 1)[0] in failure.command.output.text for word in gone):
        return None
    return _replacement_remedy(success, step)


def find_replacement(failure: Failure, later: Command) -> Remedy | None:
    """Another program, or other options, that did what a program that is absent, or lacks an option, should have done."""
    failed = failure.step
    if not LACKING.search(failure.error):
        return None
    rest = {step.text for step in failure.command.steps if step is not failed and not step.trivial}
    operands = {unquote_word(word) for word in failed.words[1:] if len(word) >= _OPERAND and not word.startswith("-")}
    for place, step in enumerate(later.steps):
        beside = {other.text for other in later.steps[max(0, place - 1) : place + 2] if other is not step}
        tail = failed.words[1:]
        shares = operands & {unquote_word(word) for word in step.words[1:]} or (len(tail) > 1 and step.words[-len(tail) :] == tail)
        if (
            not step.trivial
            and step.words != failed.words
            and not (is_weakened(failed, step) or is_muffled(later, step))
            and (shares or (step.joint == "|" and rest & beside))
        ):
            return _replacement_remedy(later, step)
    return None


def _replacement_remedy(success: Command, step: Step) -> Remedy | None:
    text = strip_redirections(step.text)
    if len(text) > CHANGE_CHARS or "\n" in text or PASSING.search(text):
        return None
    return Remedy(clause=f"use {format_code(text)} instead", proof=((success.call, text),), rank=1, action=success)


CATEGORY = "known_fix"
TRIGGER = "error_fix"
REACH = (
    280  # events between a failure and its success: less than extraction looks back, so that the call of the failure is seen too
)
AHEAD = 150  # events after a success in which it can be undone
CERTAIN = 0.9
_COMMANDS = 60  # commands after a failure among which its success is looked for
_REPLACED = 4  # commands after a failure that can still be another program in its place
_TELLING = 3
_LEAST = 3  # words of an error whose rest is left out
_LINE_CHARS = 300
_ERROR_CHARS = 110
_COMMAND_CHARS = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """A failure, what helped, and the command that shows that it did."""

    failure: Failure
    remedy: Remedy
    success: Command


def propose_fixes(
    events: Sequence[Event], *, profile: Profile, scope: Callable[[str], str], start: int = 0
) -> tuple[tuple[int, Candidate], ...]:
    """The fixes whose success stands in ``events[start:]`` with its place, in order; empty where the profile has no such category.

    The failure stands at most ``REACH`` events before its success, and what undoes it at most ``AHEAD`` after, so that reading a
    session in pieces that overlap by as much proposes what reading it at once does. ``scope`` gives the scope of a raw working
    directory.
    """
    return _candidates(_fixes(events, actions_of(events)), profile, scope, start)


def propose_fixes_across(
    before: Sequence[Event], events: Sequence[Event], *, profile: Profile, scope: Callable[[str], str]
) -> tuple[tuple[int, Candidate], ...]:
    """The fixes of what failed in earlier sessions of a project (``before``, the latest last) and passed first in this one."""
    both = (*before, *events)
    found = _candidates(_fixes(both, actions_of(both), border=len(before)), profile, scope, len(before))
    return tuple((place - len(before), candidate) for place, candidate in found)


def has_open_failure(events: Sequence[Event]) -> bool:
    """Whether a command failed in these events that a later session may still mend."""
    commands, _ = actions_of(events)
    for index, command in enumerate(commands):
        failure = _failure(command)
        if failure and not any(_check_retry(failure.step, later) == (True, True) for later in commands[index + 1 :]):
            return True
    return False


def _fixes(events: Sequence[Event], done: Done, *, border: int | None = None) -> Iterator[Fix]:
    """The fixes of failed commands in the order of the failures, one for each error and success.

    The events are of one session; where a ``border`` is given those before it are of earlier ones, and only what failed before it
    and passed behind it counts.
    """
    commands, edits = done
    seen: set[tuple[int, str]] = set()
    for index, command in enumerate(commands):
        failure = _failure(command)
        if failure is None or (border is not None and command.place >= border):
            continue
        later = [
            item
            for item in commands[index + 1 : index + 1 + _COMMANDS]
            if item.place - command.place <= REACH and (border is not None or item.output.session == command.output.session)
        ]
        fix = _find_fix(failure, later, done, apart=border is not None)
        if fix is None or (border is not None and fix.success.place < border):
            continue
        key = fix.success.place, fingerprint_error(fix.failure.error)
        after = [command for command in commands if fix.success.place < command.place <= fix.success.place + AHEAD]
        undone = _is_reversed_later(fix.remedy, after, [edit for edit in edits if edit.place <= fix.success.place + AHEAD])
        ahead = events[fix.success.place + 1 : fix.success.place + 1 + AHEAD]
        if (
            key not in seen
            and not undone
            and not _has_failed_again(fix.failure, fix.success, after)
            and not _is_rejected_next(ahead)
        ):
            seen.add(key)
            yield fix


def _failure(command: Command) -> Failure | None:
    """What a command failed with, where something that was changed could mend it: not a test of the code, nor what passes by
    itself.
    """
    step = command.culprit
    if command.passed is not False or step is None or step.trivial:
        return None
    error = next((line for line in command.errors if command.stated or score_error_line(line) >= _TELLING), "") or _own_error_line(
        command, step
    )
    if not error or linter_rule(error) or any(TRANSIENT.search(line) or ASSERTS.search(line) for line in command.errors):
        return None
    return Failure(command=command, error=error, step=step)


def _own_error_line(command: Command, step: Step) -> str:
    """The first line in which a program whose status says that it failed speaks of itself by name (``go: …``)."""
    lines = command.output.text[: _LINE_CHARS * 10].splitlines() if command.stated else []
    return next((line.strip()[:_LINE_CHARS] for line in lines if step.program and line.startswith(f"{step.program}: ")), "")


def _check_retry(failed: Step, later: Command) -> tuple[bool, bool]:
    """Whether a later command runs the failed step again, and whether it passed."""
    return any(is_same_step(failed, step) for step in later.steps), later.passed is not False


def _find_fix(failure: Failure, later: Sequence[Command], done: Done, *, apart: bool) -> Fix | None:
    """What made the failed step pass when it ran again, or else the changed form of it that passed first."""
    mark = fingerprint_error(failure.error)
    other: Fix | None = None
    last = failure.command.place  # of the last attempt that failed
    for distance, command in enumerate(later, 1):
        if any(
            is_muffled(command, step)
            for step in command.steps
            if is_same_step(failure.step, step) or is_variant(failure.step, step)
        ):
            continue  # that it passed proves nothing
        again, passed = _check_retry(failure.step, command)
        passed = passed and mark not in fingerprint_errors(command.output.text)
        if again and not passed:
            return other  # the later failure stands for itself
        if again:
            between = [item for item in later if last < item.place < command.place]
            edits = [edit for edit in done[1] if last < edit.place < command.place]
            found = remedy(failure, between, edits, command)
            if found is not None and apart and found.rank < 2:
                found = None  # between two sessions much may have been done that nobody sees
            return Fix(failure=failure, remedy=found, success=command) if found else other
        step = next((step for step in command.steps if is_variant(failure.step, step)), None)
        if step is not None and not passed:
            if mark not in fingerprint_errors(command.output.text):
                return other
            last = command.place
        elif other is None:
            changed = any(last < edit.place < command.place for edit in done[1])
            found = find_variant_remedy(failure, command, step) if step and not changed else None
            if found is None and step is None and passed and distance <= _REPLACED:
                found = find_replacement(failure, command)
            other = Fix(failure=failure, remedy=found, success=command) if found else None
    return other


def _candidates(
    found: Iterator[Fix], profile: Profile, scope: Callable[[str], str], start: int
) -> tuple[tuple[int, Candidate], ...]:
    category = profile.category_for(CATEGORY)
    if category is None:
        return ()
    made = [
        (fix.success.place, candidate)
        for fix in found
        if fix.success.place >= start and (candidate := _candidate(fix, profile, category.id, scope)) is not None
    ]
    return tuple(sorted(made, key=lambda pair: pair[0]))


def _candidate(fix: Fix, profile: Profile, category: str, scope: Callable[[str], str]) -> Candidate | None:
    whole = error_message(fix.failure.error).rstrip(" .:")
    step = strip_redirections(fix.failure.step.text)
    error, command = named_error(whole), plain_command(step)
    done = [passage for _, passage in fix.remedy.proof]
    if any(map(is_spoken, done)) or (error != whole and len(error.split()) < _LEAST) or not command:
        return None
    error = _shorten_passage(error, _ERROR_CHARS, whole=error == whole)
    command = _shorten_passage(command, _COMMAND_CHARS, whole=command == step)
    content = f"{format_code(error)} when running {format_code(command)}: {fix.remedy.clause}."
    quotes = ((fix.failure.command.output, fix.failure.error), (fix.failure.command.call, fix.failure.step.text), *fix.remedy.proof)
    evidence = tuple(each for event, quote in quotes if (each := _evidence(event, quote)) is not None)
    if len(content) > _LINE_CHARS or len(evidence) < len(quotes):
        return None
    event = fix.success.output
    where = scope(event.project)
    return Candidate(
        id=digest(profile.id, CATEGORY, where, TRIGGER, event.key, content),
        profile=profile.id,
        category=category,
        scope=where,
        content=content,
        confidence=CERTAIN,
        doubt=DANGEROUS if any(map(is_harmful_command, done)) else UNNAMED if _places_other(fix, done) else "",
        trigger=TRIGGER,
        at=event.at,
        origin=least_trusted(tuple(item.origin for item in evidence)),
        artifacts=(error, command),
        evidence=evidence,
        reasoning="the command failed, and passed after this",
        fingerprint=fingerprint_error(fix.failure.error),
    )


def _places_other(fix: Fix, done: Sequence[str]) -> bool:
    """Whether what helped places a package that the failure does not name."""
    errors = (fix.failure.error, *fix.failure.command.errors)
    edit = fix.remedy.edit
    changed = edit is not None and requires_unnamed(file_name(edit.path), edit.old, edit.new, errors)
    return changed or places_unnamed(done, errors, fix.failure.command.text)


def _shorten_passage(text: str, limit: int, *, whole: bool) -> str:
    """A passage within a limit, cut between words; one that is not the ``whole`` says so."""
    line = text.strip().splitlines()[0]
    if len(line) <= limit - 2:
        return line if whole else f"{line} …"
    if whole and len(line) <= limit:
        return line
    return f"{line[: limit - 2].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


def _evidence(event: Event, quote: str) -> Evidence | None:
    """The quote as evidence; None where the event does not hold it verbatim."""
    short = quote.strip()[:400]
    texts = (event.text, event.tool.target, event.tool.detail) if event.tool else (event.text,)
    return evidence_of(event, short) if short and any(short in text for text in texts) else None


# --- What was undone after it seemed to help


def _has_failed_again(failure: Failure, success: Command, after: Sequence[Command]) -> bool:
    """Whether what passed fails with the same error soon after."""
    mark = fingerprint_error(failure.error)
    passed = [step for step in success.steps if is_same_step(failure.step, step) or is_variant(failure.step, step)]
    return any(
        command.passed is False
        and mark in fingerprint_errors(command.output.text)
        and any(is_same_step(left, right) for left in passed for right in command.steps)
        for command in after
    )


def _is_rejected_next(ahead: Sequence[Event]) -> bool:
    """Whether the person's next prompt takes back what was done."""
    prompt = next((event for event in ahead if event.kind is EventKind.PROMPT and event.author is Author.HUMAN), None)
    return prompt is not None and TAKEN_BACK.search(prompt.text[:200]) is not None


def _is_reversed_later(done: Remedy, later: Sequence[Command], edits: Sequence[Edit]) -> bool:
    """Whether what helped was undone afterwards: an edit the other way round, a file put back, a package taken out, a setting
    unset.
    """
    action = done.action
    if isinstance(action, Edit):
        reverted = any(_is_reversal(action, edit) for edit in edits if edit.place > action.place)
        return reverted or any(_is_restore_of(step, action.path) for command in later for step in command.steps)
    if action is None:
        return False
    ran = [step for step in action.steps if has_side_effects(step)]
    return any(
        _is_removal_of(step, earlier)
        for command in later
        if command.passed is not False
        for step in command.steps
        for earlier in ran
    )


def _is_reversal(edit: Edit, later: Edit) -> bool:
    if file_name(edit.path) != file_name(later.path) or not edit.old.strip():
        return False
    gone, come = set(lines_of(edit.old)) - set(lines_of(edit.new)), set(lines_of(edit.new)) - set(lines_of(edit.old))
    again = set(lines_of(later.new)) - set(lines_of(later.old))
    left = set(lines_of(later.old)) - set(lines_of(later.new))
    return bool((gone and gone <= again) or (come and not gone and come <= left))


def _is_restore_of(step: Step, path: str) -> bool:
    verb = step.words[1] if len(step.words) > 1 else ""
    puts = step.program == "git" and verb in ("checkout", "restore", "reset", "stash", "revert")
    whole = verb in ("revert", "stash") or "--hard" in step.words or "." in step.words
    return puts and (whole or any(file_name(unquote_word(word)) == file_name(path) for word in step.words[2:]))


def _is_removal_of(step: Step, earlier: Step) -> bool:
    if step.program != earlier.program or not any(TAKES_AWAY.fullmatch(word) for word in step.words[1:4]):
        return False
    taken = any(TAKES_AWAY.fullmatch(word) for word in earlier.words[1:4])
    common = {unquote_word(word) for word in step.words[2:]} & {unquote_word(word) for word in earlier.words[2:]}
    return not taken and any(len(word) >= 3 and not word.startswith("-") for word in common)
