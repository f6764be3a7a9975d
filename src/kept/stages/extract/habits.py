"""Checks that are run after a change, again and again: the commands by which work on a project is tested, linted, formatted and built.

One session proves nothing, so a candidate only says what was seen; it becomes a memory when enough sessions say the same. Commands
that name one test, one file or one option of the moment are left out.
"""

from collections.abc import Callable, Sequence

import re2

from kept.model.codec import digest
from kept.model.event import Author, Event, least
from kept.model.lexicon import Lexicon
from kept.model.memory import REPETITION, Candidate
from kept.model.profile import Profile
from kept.stages.extract.actions import Command, Done, actions_of
from kept.stages.extract.commands import Step
from kept.stages.extract.phrasing import ticked
from kept.stages.extract.turn import evidence_of
from kept.stages.extract.view import LOOKBACK

CATEGORY = "convention"
_MOST = 5
_WORDS = 5
# What a check does, in the order in which people run them.
_KINDS = (
    re2.compile(r"(?i)\b(?:build|compile|make|assemble)\b"),
    re2.compile(r"(?i)\b(?:fmt|format|gofmt|goimports|gofumpt|prettier|black|rustfmt|isort)\b"),
    re2.compile(r"(?i)\b(?:lint|golangci-lint|eslint|ruff|flake8|clippy|vet|biome|pylint|rubocop|shellcheck|ktlint)\b"),
    re2.compile(r"(?i)\b(?:typecheck|type-check|tsc|mypy|pyright|check)\b"),
    re2.compile(r"(?i)\b(?:test|tests|pytest|vitest|jest|tox|nox|spec|rspec|ctest|phpunit|e2e)\b"),
)
_REDIRECTS = re2.compile(r"\s*\d?>{1,2}\s*(?:&\d|/dev/null|\S+)")
# A place or a choice that only one moment has: a file, a directory below this one, a single test.
_NARROW = re2.compile(
    r"(?:^|\s)(?:-run|-k|-t|--filter|--grep|-v+|--verbose|--help|-h|--version)(?:\s|=|$)|(?:^|\s)\S*[^\s./]/\S+|(?:^|\s)[/~]\S*|\S::\S|\*"
)
_OWN = frozenset({"git", "gh", "rm", "mv", "cp", "mkdir", "touch", "cat", "ls", "curl", "echo", "python", "python3", "node"})


def propose(
    events: Sequence[Event],
    start: int,
    stop: int,
    *,
    profile: Profile,
    lexicon: Lexicon,
    scope: Callable[[str], str],
    done: Done | None = None,
) -> tuple[Candidate, ...]:
    """One candidate for the checks that passed after a change up to the end of ``[start, stop)``, if the last of them is in it."""
    if profile.category_for(CATEGORY) is None:
        return ()
    low = max(0, start - LOOKBACK)
    commands, edits = done or actions_of(events, low, stop)
    if not edits:
        return ()
    found: dict[str, tuple[int, Command, Step]] = {}
    for command in commands:
        if command.passed is False or command.place < edits[0].place or command.call.author is not Author.ASSISTANT:
            continue
        for step in command.steps:
            kind, words = _kind(step), _words(step)
            if kind >= 0 and words:
                found.setdefault(words, (kind, command, step))
    if not any(start <= command.place < stop for _, command, _ in found.values()):
        return ()
    chosen = _shortest(found)
    if not chosen:
        return ()
    last = max((command for _, (_, command, _) in chosen), key=lambda each: each.place)
    content = f"{lexicon.phrase('checks')}: {', '.join(f'`{ticked(words)}`' for words, _ in chosen)}."
    evidence = tuple(
        evidence_of(command.call, step.text) for _, (_, command, step) in chosen[-2:] if _holds(command.call, step.text)
    )
    if not evidence:
        return ()
    where = scope(last.output.project)
    return (
        Candidate(
            id=digest(profile.id, CATEGORY, where, REPETITION, last.output.key, content),
            profile=profile.id,
            category=CATEGORY,
            scope=where,
            content=content,
            confidence=round(0.5 + 0.08 * len(chosen), 2),
            trigger=REPETITION,
            at=last.output.at,
            origin=least(tuple(each.origin for each in evidence)),
            artifacts=tuple(words for words, _ in chosen),
            evidence=evidence,
            reasoning="checks that passed after a change",
            fingerprint=digest("checks", where),
        ),
    )


def _kind(step: Step) -> int:
    """Which kind of check a step is, by its program and the words after it; -1 where it is none."""
    built = step.text.startswith("./") and not step.program.endswith(
        "w"
    )  # a program of the project, but for ./gradlew and its like
    if step.trivial or step.filters or built or step.program in _OWN or "=" in step.program:
        return -1
    head = " ".join(step.words[:3])
    return next((number for number, pattern in reversed([*enumerate(_KINDS)]) if pattern.search(head)), -1)


def _words(step: Step) -> str:
    """The step as it would be run any other day; empty where it is only of the moment."""
    text = str(_REDIRECTS.sub("", step.text)).strip()
    return text if 0 < len(text.split()) <= _WORDS and not _NARROW.search(text.replace("./...", "")) and len(text) <= 60 else ""


def _shortest(found: dict[str, tuple[int, Command, Step]]) -> list[tuple[str, tuple[int, Command, Step]]]:
    """The plainest command of each kind, kinds in their order."""
    best: dict[tuple[int, str], str] = {}
    for words, (kind, _, step) in sorted(found.items()):
        key = (kind, step.program)
        if key not in best or (len(words.split()), words) < (len(best[key].split()), best[key]):
            best[key] = words
    return [(words, found[words]) for _, words in sorted(best.items())][:_MOST]


def _holds(call: Event, text: str) -> bool:
    return text in call.text or (call.tool is not None and text in call.tool.target)
