"""Assemble the context for a session: rules that always apply, the last days, fixes of the same failure, facts near the message.

A hook waits for the result. This module and its imports therefore load almost nothing, and the store is read within a deadline. The
module itself looks up only words and failure fingerprints. A caller that can compare vectors passes ``nearest``.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from kept.core.errors import StoreError
from kept.core.fence import CORE, DAYS, FACTS, FIXES, HERE, PAST, SAID, Context, ContextPiece
from kept.core.light import UTC, datetime, timedelta
from kept.core.text import project_label
from kept.recall.context_budget import fit_to_budget
from kept.recall.nearby import (
    CORE_CATEGORIES,
    ContextLookup,
    ContextRequest,
    MessageTerms,
    NearnessLookup,
    RecallEnvironment,
    find_nearby,
    parse_message_terms,
    shared_terms,
)
from kept.recall.relevance import is_related_recent_work
from kept.store.reader import RecallMemory, StoreReader

RULE_CATEGORIES = ("constraint", "convention", "preference", "preferences")  # shown to clients that do not load kept's files
# Takes a scope and returns the turns in it that a message may refer to: key → nearness. After a key and a space there may be the
# key of a later turn about the same, which may end what the first one says.
TurnLookup = Callable[[str], Mapping[str, float]]
# Takes scopes and returns the results of a search in them, best first: ids of memories, and keys of turns with ``passages.PREFIX``.
ResultLookup = Callable[[list[str]], Sequence[str]]
NOTHING = Context((), 0, {})
_WRITTEN = 30.0  # the score of a passage about a day
_ENDS = 12_000  # number of characters at each end of a message that are searched for a word of ``_FAILING``
_FAILING_TEXT = """
error, exception, traceback, panic, fatal, failed, failure, denied, refused, not found, no such, invalid, cannot, can't, unable to,
exit code, exit status, exited, unexpected, undefined, unknown
"""
_FAILING = tuple(item.strip() for item in _FAILING_TEXT.split(","))
_WORKED_ON = "worked on in this project in the last two days"
_DONE = 2  # minimum weight of a note whose work was done and not only requested


def assemble_context(
    place: RecallEnvironment,
    asked: ContextRequest,
    *,
    now: datetime,
    scope: str = "",
    nearest: NearnessLookup | None = None,
    said: TurnLookup | None = None,
    missed: list[ContextPiece] | None = None,
    ranked: ResultLookup | None = None,
) -> Context:
    """The context for a message; ``NOTHING`` if there is no store.

    Args:
        place: the store, the user's home and the settings of recall.
        asked: the message and what to include.
        now: the present moment.
        scope: the scope of the directory, if the caller knows it.
        nearest: starts the lookup of facts that are near in meaning. It returns a function that reads the result. That function is
            called after the lookup by words.
        said: finds what the person said in this project. It is called only if there are no fixes, no facts and no recent work.
        missed: receives the facts that are not near enough.
        ranked: searches for results that fill the rest of the budget, because a caller who asks a question and sets a budget wants
            all of it used.

    Raises StoreError if the store cannot be read, or not before the deadline.
    """
    if not os.path.isfile(place.store):  # noqa: PTH113 - pathlib takes longer to import than a search takes
        return NOTHING
    with StoreReader(place.store, place.seconds) as reader:
        scope = scope or (reader.scope(asked.directory) if asked.directory else "")
        look = ContextLookup(reader, place, asked, now, ["user", *([scope] if scope not in ("", "user") else [])], missed)
        read_nearness = nearest(look.scopes) if nearest is not None and asked.message else dict
        message = parse_message_terms(look)
        offered = {
            FIXES: [
                _fix_piece(look, item)
                for item in reader.memories_by_fingerprint(list(asked.marks))
                if asked.others or item.scope in look.scopes
            ],
            **(_core_pieces(look) if asked.core else {}),
            DAYS: _day_pieces(look, message) if asked.core or asked.days or message.intent.recent else [],
            **find_nearby(look, message, read_nearness),
        }
        keys, texts = find_already_read(reader, asked, place.user)
        project = look.scopes[1:]
        if said is not None and project and asked.message and not (offered[FIXES] or offered[FACTS] or offered[DAYS]):
            offered[SAID] = _find_said_pieces(look, said, project[0])
        if asked.already_shown and (offered[PAST] or offered.get(SAID)):
            rows = reader.memory_rows_by_id(list(asked.already_shown), look.scopes, list(place.profiles))
            texts += [memory.content for memory in reader.memories(rows)]
        rest = _ranked_pieces(look, ranked(look.scopes)) if ranked is not None and asked.message else ()
        return fit_to_budget(offered, budget=asked.budget, present=texts, already_shown=asked.already_shown | keys, rest=rest)


def failure_marks(message: str) -> tuple[str, ...]:
    """The fingerprints of the failures that a message reports. Empty if the message contains no word of ``_FAILING``."""
    ends = (message if len(message) <= 2 * _ENDS else f"{message[:_ENDS]}\n{message[-_ENDS:]}").lower()
    if not any(item in ends for item in _FAILING):
        return ()
    from kept.core.error_fingerprint import message_fingerprints  # noqa: PLC0415 - its patterns are slow to compile

    return message_fingerprints(message)


def _fix_piece(look: ContextLookup, memory: RecallMemory) -> ContextPiece:
    name = look.reader.project_names([memory.scope]).get(memory.scope, "another project")
    where = "" if memory.scope in look.scopes else f" [{project_label(name)}]"
    reason = f"the message tells of the same failure{where and ', met in another project'}"
    return ContextPiece(
        FIXES, memory.id, memory.line + where, look.local_day(memory.last_seen), 1.0, memory.confidence - bool(where), reason
    )


def _find_said_pieces(look: ContextLookup, said: TurnLookup, scope: str) -> list[ContextPiece]:
    """Earlier statements of the person. Empty if they cannot be read in time, so that the rest of the context is still shown."""
    began = time.monotonic()
    near = said(scope)
    look.reader.extend_deadline(time.monotonic() - began)
    if not near:
        return []
    from kept.recall.passages import turn_pieces  # noqa: PLC0415 - it is slow, and rarely needed

    try:
        return turn_pieces(look, near)
    except StoreError:
        return []


def _ranked_pieces(look: ContextLookup, ranked: Sequence[str]) -> Iterator[ContextPiece]:
    """Yield the search results in their order, without memories that have expired."""
    from kept.recall.passages import PREFIX, turn_pieces  # noqa: PLC0415 - as above

    rows = look.reader.memory_rows_by_id(list(ranked), look.scopes, list(look.place.profiles))
    memories = {memory.id: memory for memory in look.reader.memories(rows) if look.is_valid(memory)}
    for key in ranked:
        if memory := memories.get(key):
            yield ContextPiece(FACTS, key, memory.line, look.local_day(memory.last_seen), 1.0, 0.0, "search ranks it next")
        elif key.startswith(PREFIX):
            yield from turn_pieces(look, {key.removeprefix(PREFIX): 1.0})


def _core_pieces(look: ContextLookup) -> dict[str, list[ContextPiece]]:
    """The pieces for memories that apply everywhere (``CORE``) and for the project's own (``HERE``). Rules score higher."""
    rules = None if look.asked.whole else RULE_CATEGORIES if look.asked.rules else ()
    pieces: dict[str, list[ContextPiece]] = {CORE: [], HERE: []}
    for memory in look.reader.always_shown_memories(look.scopes, list(CORE_CATEGORIES), list(look.place.profiles), rules):
        if look.is_valid(memory):
            layer = CORE if memory.scope == "user" else HERE
            first = 2 * memory.pinned + (memory.category in RULE_CATEGORIES)
            score = first + memory.confidence * min(1.0, 0.8 + memory.observations / 50)
            reason = (
                "pinned"
                if memory.pinned
                else f"a {memory.category.replace('_', ' ')} that holds {'everywhere' if layer == CORE else 'here'}"
            )
            pieces[layer].append(ContextPiece(layer, memory.id, memory.line, look.local_day(memory.last_seen), 1.0, score, reason))
    return pieces


def _day_pieces(look: ContextLookup, message: MessageTerms) -> list[ContextPiece]:
    """The pieces for the last two days in this project: passages about each day, and notes about the work of other sessions.

    A note is used only if its work has an outcome and, if there is a message, is related to the message. All notes of a day are
    left out if a passage reports the solutions or decisions of that day.
    """
    asked, recent = look.asked, message.intent.recent
    project = look.scopes[1:]
    if not project:
        return []
    today = look.now.astimezone(look.place.zone).replace(hour=0, minute=0, second=0, microsecond=0)
    start, now = _format_store_instant(today - timedelta(days=1)), _format_store_instant(look.now)
    written = look.reader.passages_of_days(look.local_day(start), look.local_day(now), project)
    gone = {item.instead for item in written if item.own}
    # On these days passages report the work. For other days notes are used.
    days = {item.day for item in written if not item.own and item.kind in ("solutions", "decisions")}
    pieces = [
        ContextPiece(DAYS, item.id, item.text, item.day, 1.0, _WRITTEN, "what the day came to in this project")
        for item in written
        if (asked.core or recent) and item.text and item.id not in gone and item.sessions != {asked.session}
    ]
    if not (asked.days or recent):
        return pieces
    return pieces + [
        ContextPiece(DAYS, item.key, item.text, look.local_day(item.at), 1.0, float(item.weight), _WORKED_ON)
        for item in look.reader.notes_between(start, now, project)
        if item.session != asked.session
        and item.ended
        and (not asked.message or recent or is_related_recent_work(list(shared_terms(message, item.text).values())))
        and item.weight >= _DONE
        and item.key not in gone
        and look.local_day(item.at) not in days
    ]


def _format_store_instant(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def find_already_read(reader: StoreReader, asked: ContextRequest, user: str) -> tuple[frozenset[str], list[str]]:
    """What the client itself loads from kept's files: the ids of memories, and the texts of the lines that a person wrote."""
    keys: set[str] = set()
    texts: list[str] = []
    own, variable, theirs = _READS.get(asked.client, ("", "", ()))
    named = os.environ.get(variable, "").rstrip("/")
    place = f"{named}/" if named and variable != "GEMINI_CLI_HOME" else f"{named or user}{own}"
    for path, lines in reader.outputs() if own else ():
        folder, _, name = path.rpartition("/")
        if name in theirs:
            continue
        if path.startswith(place) or asked.directory == folder or asked.directory.startswith(f"{folder}/"):
            keys.update(key for key, _ in lines if key and ":" not in key)
            texts += [text.removeprefix("- ") for key, text in lines if not key and text.strip()]
    return frozenset(keys), texts


# Client → three things: the folder below the user's home from which the client loads files that kept writes, the environment
# variable that replaces this folder (for Gemini, the home), and the names of project files that the client does not load.
_READS = {
    "claude": ("/.claude/", "CLAUDE_CONFIG_DIR", ("AGENTS.md", "GEMINI.md")),
    "codex": ("/.codex/", "CODEX_HOME", ("CLAUDE.md", "GEMINI.md")),
    "gemini": ("/.gemini/", "GEMINI_CLI_HOME", ("CLAUDE.md", "AGENTS.md")),
}


def utc_now() -> datetime:
    """The present time in UTC."""
    return datetime.now(UTC)
