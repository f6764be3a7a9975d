"""Proven fixes: a command failed, later the same command or a variant of it passed, and the change in between is known.

Evidence is only commands that ran and edits that were made, never advice in a text. The content is a template with verbatim slots:
the error, the command and the change. A variant has other options, variables, quotes or wrappers, or another program in its place.
This module does not decide whether a candidate becomes a memory.
"""

from collections.abc import Iterator, Sequence

from kept.core.digest import digest
from kept.core.error_fingerprint import error_message, fingerprint_error, fingerprint_errors, linter_rule, score_error_line
from kept.core.event import Event, is_prompt, least_trusted
from kept.core.memory import DANGEROUS, OCCASIONAL, UNNAMED, UNPROVEN, Candidate, Evidence
from kept.core.pattern import Pattern
from kept.core.value import dataclass
from kept.extraction.rules import toolwords
from kept.extraction.rules.commands import Actions, Command, Edit, Step, find_actions, unquote_word
from kept.extraction.rules.harms import (
    cut_command_prose,
    cut_error_prose,
    has_prose,
    installs_unnamed_package,
    is_harmful_command,
    requires_unnamed_package,
)
from kept.extraction.rules.patterns import build_evidence, list_texts
from kept.extraction.rules.remedies import (
    Failure,
    Failures,
    Remedy,
    changed_lines,
    file_name,
    find_remedy,
    find_sole_remedy,
    format_code,
    has_side_effects,
    is_same_step,
    names_passing_value,
    strip_redirections,
)
from kept.extraction.rules.variants import find_exported_variant, find_replacement, find_variant_remedy, is_muffled, is_variant
from kept.profiles.profile import Profile

CATEGORY = "known_fix"
TRIGGER = "error_fix"
REACH = 280  # maximum events between a failure and its success; extraction reads more events back, so it still sees the failed call
AHEAD = 150  # events after a success in which its undoing is searched
CERTAIN = 0.9  # confidence of a fix
_COMMANDS = 60  # commands after a failure among which its success is searched
_REPLACED = 4  # commands after a failure among which a replacement of its program is searched
_TELLING = 3  # minimum score of an error line that identifies a failure
_LEAST_ERROR_WORDS = 3  # words of an error that must remain when its end is left out
_LINE_CHARS = 300
_COUNTS = Pattern(r"^[\W\d]*(?:Tests?|Test (?:Files|Suites))?[:\s]*\d+ (?:failing|failed)\b[^:]*$")  # last line of a test run
_ERROR_CHARS = 110
_COMMAND_CHARS = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Fix:
    """A failure, the step that helped, and the command whose success proves it."""

    failure: Failure
    remedy: Remedy
    success: Command


# To end the process that holds a port harms nothing else.
_PORT = Pattern(r"\b(?:lsof|fuser)\b[^;&]*\b\d{2,5}\b")


def propose_fixes(
    events: Sequence[Event], done: Actions, *, profile: Profile, scope: str, start: int = 0
) -> tuple[tuple[int, Candidate], ...]:
    """The fixes whose success is in ``events[start:]``, each with the index of the success, in order. Empty if the profile has no
    category for fixes. ``done`` is the result of :func:`find_actions` for the events.

    A failure is at most ``REACH`` events before its success, and an event that undoes the fix at most ``AHEAD`` events after it.
    Reading a session in pieces with that much overlap therefore gives the same result as reading it at once.
    """
    return _build_candidates(_find_fixes(events, done), profile, scope, start)


def propose_fixes_across(
    before: Sequence[Event], events: Sequence[Event], *, profile: Profile, scope: str
) -> tuple[tuple[int, Candidate], ...]:
    """The fixes of failures in earlier sessions of a project that first passed in this session. ``before`` has their events."""
    both = (*before, *events)
    found = _build_candidates(_find_fixes(both, find_actions(both), border=len(before)), profile, scope, len(before))
    return tuple((place - len(before), candidate) for place, candidate in found)


def find_failures(commands: Sequence[Command], start: int = 0) -> Failures:
    """The failures of the commands from index ``start`` of the events on."""
    found = [(index, failure) for index, each in enumerate(commands) if each.place >= start and (failure := _find_failure(each))]
    is_open = any(
        not any(later.passed is not False and _has_same_step(later, failure.step) for later in commands[index + 1 :])
        for index, failure in found
    )
    lacking = any(toolwords.LACKING.search(failure.error) for _, failure in found)
    return Failures(open=is_open, programs=frozenset(failure.step.program for _, failure in found), lacking=lacking)


def _find_fixes(events: Sequence[Event], done: Actions, *, border: int | None = None) -> Iterator[Fix]:
    """Yield the fixes of failed commands in the order of the failures, at most one for each error, remedy and success.

    Without ``border``, failure and success are in one session. Events before index ``border`` are from earlier sessions; if it is
    given, only failures before it with a success after it count.
    """
    commands, edits = done
    seen: set[tuple[int, str]] = set()
    for index, command in enumerate(commands):
        failure = _find_failure(command) if border is None or command.place < border else None
        if failure is None:
            continue
        later = [
            item
            for item in commands[index + 1 : index + 1 + _COMMANDS]
            if item.place - command.place <= REACH and (border is not None or item.output.session == command.output.session)
        ]
        fix = _find_fix(failure, later, done, apart=border is not None)
        if fix is None or (border is not None and fix.success.place < border):
            continue
        talked = any(map(is_prompt, events[command.place : fix.success.place]))
        if talked and not (fix.remedy.rank or fix.remedy.edit):
            continue  # the person may have changed something meanwhile
        keys = {(fix.success.place, fingerprint_error(fix.failure.error)), (fix.success.place, fix.remedy.clause)}
        after = [command for command in commands if fix.success.place < command.place <= fix.success.place + AHEAD]
        undone = _is_reversed_later(fix.remedy, after, [edit for edit in edits if edit.place <= fix.success.place + AHEAD])
        ahead = events[fix.success.place + 1 : fix.success.place + 1 + AHEAD]
        if (
            seen.isdisjoint(keys)
            and not undone
            and not _has_failed_again(fix.failure, fix.success, after)
            and not _is_rejected_next(ahead)
        ):
            seen |= keys
            yield fix


def _find_failure(command: Command) -> Failure | None:
    """The failure of a command, if a change can fix it. None for failed tests of the code, and for transient errors."""
    if command.passed is not False or (step := command.culprit) is None or step.trivial:
        return None
    error = next(
        (line for line in command.errors if command.stated or score_error_line(line) >= _TELLING), ""
    ) or _find_own_error_line(command, step)
    if not error or linter_rule(error):
        return None
    # If something is missing, failed tests do not show that the code is wrong.
    if any(
        toolwords.TRANSIENT.search(line) or (toolwords.ASSERTS.search(line) and not (_COUNTS.match(line) and _lacks(error)))
        for line in (error, *command.errors)
    ):
        return None
    return Failure(command=command, error=error, step=step)


def _lacks(error: str) -> bool:
    return any(symptom.search(error) for symptom, _ in toolwords.KINDS)


def _find_own_error_line(command: Command, step: Step) -> str:
    """The first line that begins with the name of the failed program (``go: …``) or the word "error"; empty if there is none."""
    lines = command.output.text[: _LINE_CHARS * 10].splitlines() if command.stated else []
    heads = (f"{step.program}: " if step.program else "error ", "error ", "Error ", "ERROR ")
    return next((line.strip()[:_LINE_CHARS] for line in lines if line.startswith(heads)), "")


def _has_same_step(later: Command, failed: Step) -> bool:
    return any(is_same_step(failed, step) for step in later.steps)


def _find_fix(failure: Failure, later: Sequence[Command], done: Actions, *, apart: bool) -> Fix | None:
    """Find the change after which the failed step passed when it was repeated, or else the first variant that passed; else None."""
    mark = fingerprint_error(failure.error)
    other: Fix | None = None
    last = failure.command.place  # event of the last failed attempt
    replaced = _REPLACED if toolwords.LACKING.search(failure.error) else 0
    for distance, command in enumerate(later, 1):
        alike = [step for step in command.steps if is_same_step(failure.step, step) or is_variant(failure.step, step)]
        if any(is_muffled(command, step) for step in alike):
            continue  # the success of this command proves nothing
        if not alike and (other is not None or distance > replaced):
            continue
        again = _has_same_step(command, failure.step)
        passed = command.passed is not False and mark not in fingerprint_errors(command.output.text)
        if again and not passed:
            return other  # the later failure gets a fix of its own
        between = [item for item in later if last < item.place < command.place]
        if again:
            edits = [edit for edit in done[1] if last < edit.place < command.place]
            found = find_remedy(failure, between, edits, command)
            if found is None and not edits:
                found = find_exported_variant(failure, command)
            if found is not None and apart and found.rank < 2:
                found = None  # the transcripts do not show what happened between two sessions
            if found is None and other is None and not apart:
                found = find_sole_remedy(failure, between, edits, command)
            return Fix(failure=failure, remedy=found, success=command) if found else other
        step = alike[0] if alike else None
        if step is not None and not passed:
            last = command.place if mark in fingerprint_errors(command.output.text) else last
        elif other is None:
            # A variant that failed before, or after a step that repairs such errors, passed for another reason.
            changed = any(last < edit.place < command.place for edit in done[1])
            failed = step is not None and any(item.passed is False and _has_same_step(item, step) for item in later[: distance - 1])
            if step is not None and not (changed or failed or find_remedy(failure, between, (), command)):
                found = find_variant_remedy(failure, command, step)
            else:
                found = find_replacement(failure, command) if step is None and passed else None
            other = Fix(failure=failure, remedy=found, success=command) if found else None
    return other


def _build_candidates(found: Iterator[Fix], profile: Profile, scope: str, start: int) -> tuple[tuple[int, Candidate], ...]:
    category = profile.category_for(CATEGORY)
    if category is None:
        return ()
    made = [
        (fix.success.place, candidate)
        for fix in found
        if fix.success.place >= start and (candidate := _build_candidate(fix, profile, category.id, scope)) is not None
    ]
    return tuple(sorted(made, key=lambda pair: pair[0]))


def _build_candidate(fix: Fix, profile: Profile, category: str, scope: str) -> Candidate | None:
    whole = error_message(fix.failure.error).rstrip(" .:")
    step = strip_redirections(fix.failure.step.text)
    error, command = cut_error_prose(whole), cut_command_prose(step)
    done = [passage for _, passage in fix.remedy.proof]
    if any(map(has_prose, done)) or (error != whole and len(error.split()) < _LEAST_ERROR_WORDS) or not command:
        return None
    error = _shorten_passage(error, _ERROR_CHARS, whole=error == whole)
    command = _shorten_passage(command, _COMMAND_CHARS, whole=command == step)
    content = f"{format_code(error)} when running {format_code(command)}: {fix.remedy.clause}."
    quotes = ((fix.failure.command.output, fix.failure.error), (fix.failure.command.call, fix.failure.step.text), *fix.remedy.proof)
    evidence = tuple(each for event, quote in quotes if (each := _build_evidence(event, quote)) is not None)
    if len(content) > _LINE_CHARS or len(evidence) < len(quotes):
        return None
    event = fix.success.output
    return Candidate(
        id=digest(profile.id, CATEGORY, scope, TRIGGER, event.key, content),
        profile=profile.id,
        category=category,
        scope=scope,
        content=content,
        confidence=CERTAIN,
        doubt=_find_doubt(fix, done),
        trigger=TRIGGER,
        at=event.at,
        origin=least_trusted(tuple(item.origin for item in evidence)),
        artifacts=(error, command),
        evidence=evidence,
        reasoning="the command failed, and passed after this",
        fingerprint=fingerprint_error(fix.failure.error),
    )


def _find_doubt(fix: Fix, done: Sequence[str]) -> str:
    """The reason to hold a fix; empty if there is none."""
    edit = fix.remedy.edit
    ran = [passage for event, passage in fix.remedy.proof if edit is None or event is not edit.call]
    if any(map(is_harmful_command, done)) or any(toolwords.FORCES.search(step) and not _PORT.search(step) for step in ran):
        return DANGEROUS
    if _installs_unnamed(fix, done):
        return UNNAMED
    return OCCASIONAL if names_passing_value(fix.failure, fix.remedy) else "" if fix.remedy.rank else UNPROVEN


def _installs_unnamed(fix: Fix, done: Sequence[str]) -> bool:
    """True if the remedy installs a package that the failure does not name."""
    errors = (fix.failure.error, *fix.failure.command.errors)
    edit = fix.remedy.edit
    changed = edit is not None and requires_unnamed_package(file_name(edit.path), edit.old, edit.new, errors)
    return changed or installs_unnamed_package(done, errors, fix.failure.command.text)


def _shorten_passage(text: str, limit: int, *, whole: bool) -> str:
    """Shorten a passage to ``limit`` characters at a word boundary. An ellipsis marks a passage that is not the ``whole`` text."""
    line = text.strip().splitlines()[0]
    if len(line) <= (limit if whole else limit - 2):
        return line if whole else f"{line} …"
    return f"{line[: limit - 2].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


def _build_evidence(event: Event, quote: str) -> Evidence | None:
    """The quote as evidence, or None if the event does not contain it verbatim."""
    short = quote.strip()[:400]
    return build_evidence(event, short) if short and any(short in text for text in list_texts(event)) else None


# --- Remedies that were undone later


def _has_failed_again(failure: Failure, success: Command, after: Sequence[Command]) -> bool:
    """True if the passed command soon fails again with the same error."""
    mark = fingerprint_error(failure.error)
    passed = [step for step in success.steps if is_same_step(failure.step, step) or is_variant(failure.step, step)]
    return any(
        command.passed is False
        and mark in fingerprint_errors(command.output.text)
        and any(is_same_step(left, right) for left in passed for right in command.steps)
        for command in after
    )


def _is_rejected_next(ahead: Sequence[Event]) -> bool:
    """True if the person's next prompt rejects the step."""
    prompt = next((event for event in ahead if is_prompt(event)), None)
    return prompt is not None and toolwords.TAKEN_BACK.search(prompt.text[:200]) is not None


def _is_reversed_later(done: Remedy, later: Sequence[Command], edits: Sequence[Edit]) -> bool:
    """True if the remedy was undone later: by the reverse edit, a restored file, a removed package, or an unset setting."""
    action = done.action
    if isinstance(action, Edit):
        reverted = any(_is_reversal(action, edit) for edit in edits if edit.place > action.place)
        return reverted or any(_is_restore_of(step, action.path) for command in later for step in command.steps)
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
    gone, come = map(set, changed_lines(edit))
    left, again = map(set, changed_lines(later))
    return bool((gone and gone <= again) or (come and not gone and come <= left))


def _is_restore_of(step: Step, path: str) -> bool:
    verb = step.words[1] if len(step.words) > 1 else ""
    puts = step.program == "git" and verb in ("checkout", "restore", "reset", "stash", "revert")
    whole = verb in ("revert", "stash") or "--hard" in step.words or "." in step.words
    return puts and (whole or any(file_name(unquote_word(word)) == file_name(path) for word in step.words[2:]))


def _is_removal_of(step: Step, earlier: Step) -> bool:
    if step.program != earlier.program or not any(toolwords.TAKES_AWAY.fullmatch(word) for word in step.words[1:4]):
        return False
    taken = any(toolwords.TAKES_AWAY.fullmatch(word) for word in earlier.words[1:4])
    common = {unquote_word(word) for word in step.words[2:]} & {unquote_word(word) for word in earlier.words[2:]}
    return not taken and any(len(word) >= 3 and not word.startswith("-") for word in common)
