"""What was undone after it seemed to help: an edit reversed, a package taken out, the same failure again, or a person who
objects.
"""

from collections.abc import Sequence

from kept.core.error_fingerprint import fingerprint_error, fingerprint_errors
from kept.core.event import Author, Event, EventKind
from kept.extraction.rules.actions import Command, Edit
from kept.extraction.rules.commands import Step, unquote_word
from kept.extraction.rules.remedies import Failure, Remedy, file_name, has_side_effects, is_same_step, lines_of
from kept.extraction.rules.toolwords import TAKEN_BACK, TAKES_AWAY
from kept.extraction.rules.variants import is_variant


def has_failed_again(failure: Failure, success: Command, after: Sequence[Command]) -> bool:
    """Whether what passed fails with the same error soon after."""
    mark = fingerprint_error(failure.error)
    passed = [step for step in success.steps if is_same_step(failure.step, step) or is_variant(failure.step, step)]
    return any(
        command.passed is False
        and mark in fingerprint_errors(command.output.text)
        and any(is_same_step(left, right) for left in passed for right in command.steps)
        for command in after
    )


def is_rejected_next(ahead: Sequence[Event]) -> bool:
    """Whether the person's next prompt takes back what was done."""
    prompt = next((event for event in ahead if event.kind is EventKind.PROMPT and event.author is Author.HUMAN), None)
    return prompt is not None and TAKEN_BACK.search(prompt.text[:200]) is not None


def is_reversed_later(done: Remedy, later: Sequence[Command], edits: Sequence[Edit]) -> bool:
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
