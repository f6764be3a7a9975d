"""Absorbing: what a person did to a file of lines, as their own operations on memories. Reads the store, writes nothing there.

A file that looks like damage is set aside until a person says that they meant it as it is. Beside each copy stands a note of whose
it is and which lines its file had: what was remembered later is not gone from it.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.codec import digest
from kept.core.digest import hash_bytes
from kept.core.document import AddedLines, Edits, Line
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.markup import BOM, parse_fact, parse_memory_line, split_lines
from kept.core.memory import USER_SCOPE, Evidence, Memory, Status
from kept.core.operation import Add, Approve, Operation, Reject, Retire, Revise, to_facts
from kept.core.redact import redact
from kept.core.redact.scanner import load_scanner
from kept.core.text import normal_form, one_line
from kept.core.value import dataclass, replace
from kept.local import files
from kept.memories.decisions import hold_clash
from kept.memories.person import clean_memory_text, make_memory
from kept.outputs.agent_edits import AgentEdits
from kept.outputs.compose.sheet import contradicted_texts
from kept.outputs.merge_edits.match import is_fact
from kept.outputs.targets import Target
from kept.paths import Paths
from kept.profiles.profile import Profile, format_kind, parse_kind
from kept.store.values import Output
from kept.workspace import Workspace

_SHOWN = (Status.ACTIVE, Status.HELD, Status.SUPERSEDED, Status.RESOLVED)


def edits_to_operations(workspace: Workspace, target: Target, edits: Edits, lines: Sequence[Line] = ()) -> Iterator[Operation]:
    """What the edits of one file that said ``lines`` mean for memories, as a person's operations."""
    said = {line.key: parse_fact(line.text)[0] for line in lines if is_fact(line)}
    now, memories = workspace.clock(), workspace.store.log.memories()
    was = contradicted_texts(memories)
    for number, words in sorted(edits.revised.items()):
        memory = workspace.store.log.memory(number)
        if memory is not None and memory.content and _is_changed_since(workspace, memory, said.get(number, "")):
            yield from _hold_clash(workspace, target, memory, words, now)
        elif memory is not None and memory.content:
            yield from _revise_operations(workspace, memory, (words, was.get(number, "")), now)
            if _is_contradiction_removed(memory, words, was.get(number, "")):
                yield from (
                    Retire(memory=item.id, at=now, reason="what was said before was deleted from the line by hand")
                    for item in memories
                    if item.status is Status.HELD and (item.superseded_by, item.content) == (number, was[number])
                )
    for number in edits.removed:
        memory = workspace.store.log.memory(number)
        if memory is not None and memory.status in _SHOWN:
            yield Retire(memory=number, at=now, reason="its line was deleted by hand")
    for added in edits.added:
        yield from _add_operations(workspace, target, added, memories, now)
    gone = {normal_form(item) for item in edits.gone}
    for memory in memories:
        if memory.status is Status.HELD and memory.trigger == "written" and normal_form(memory.content) in gone:
            yield Reject(memory=memory.id, at=now, reason="its line was deleted by hand")


def _revise_operations(workspace: Workspace, memory: Memory, line: tuple[str, str], now: datetime) -> Iterator[Operation]:
    """The operations of a line that a person changed: its words, and what behind them told what was said before."""
    words, was = line
    if not usable_text(workspace, words):
        return
    told, about = parse_memory_line(words, memory.content, memory.about, was)
    content = clean_memory_text(workspace, told)
    if content == one_line(memory.content) and memory.status is Status.ACTIVE:
        return
    facts = replace(to_facts(memory), content=content, artifacts=find_artifacts(content), about=about)
    yield Revise(memory=memory.id, at=now, reason="edited by hand", facts=facts)
    if memory.status not in (Status.ACTIVE, Status.SUPERSEDED, Status.RESOLVED):  # a note of a day tells of what has ended as well
        yield Approve(memory=memory.id, at=now, reason="edited by hand")


def _is_changed_since(workspace: Workspace, memory: Memory, line: str) -> bool:
    """Whether a line says what a memory said once and does not say now: another machine changed it while this one was away."""
    before = {
        normal_form(operation.value.content if isinstance(operation, Add) else operation.facts.content)
        for _, operation in workspace.store.log.operations_on(memory.id)
        if isinstance(operation, Add | Revise)
    }
    return normal_form(line) in before - {normal_form(memory.content)}


def _hold_clash(workspace: Workspace, target: Target, memory: Memory, words: str, now: datetime) -> Iterator[Operation]:
    """A person's words for a line that was changed elsewhere meanwhile: they wait beside what it says now."""
    content = usable_text(workspace, words)
    if not content:
        return
    number = digest(str(target.path), memory.id, content, size=5)
    if normal_form(content) == normal_form(memory.content) or workspace.store.log.memory(number) is not None:
        return
    yield hold_clash(number, memory, content, now, path=str(target.path))


def _is_contradiction_removed(memory: Memory, words: str, was: str) -> bool:
    """Whether a person took from a line what was said before (empty: nothing was), and left the rest: the older is over."""
    told = parse_memory_line(words, memory.content, memory.about)
    return bool(was) and told == (one_line(memory.content), memory.about) and memory.status is Status.ACTIVE


def _add_operations(
    workspace: Workspace, target: Target, added: AddedLines, memories: tuple[Memory, ...], now: datetime
) -> Iterator[Operation]:
    content = usable_text(workspace, added.fact)
    if not content or not (added.category or target.form.open):
        return
    profile, category = _profile_and_category(target, added.category)
    trusted, scope = profile.outputs.trust_added_lines, added.scope or target.scope or USER_SCOPE
    origin = Origin.USER if trusted else Origin.TOOL
    evidence = Evidence(quote=content, event="", session="", path=str(target.path), at=now, author="file", origin=origin)
    place = (str(target.path), scope, format_kind(profile.id, category))
    written = make_memory(
        "",
        content,
        now,
        profile=profile.id,
        category=category,
        scope=scope,
        trusted=trusted,
        origin=origin,
        trigger="written",
        evidence=(evidence,),
    )
    yield from take_up_written(written, memories, place, now, trusted=trusted)


def take_up_written(
    written: Memory, memories: Iterable[Memory], place: tuple[str, ...], now: datetime, *, trusted: bool
) -> Iterator[Operation]:
    """What somebody wrote into a file, as a new memory with an id made of its ``place``, unless one of ``memories`` says the same.

    Any program can write there: what was remembered once and is no more waits like what never was, where it is not ``trusted``.
    """
    same = [memory for memory in memories if memory.content and normal_form(memory.content) == normal_form(written.content)]
    if any(memory.status in (Status.ACTIVE, Status.HELD, Status.REJECTED) for memory in same):
        return
    if same and trusted:
        yield Approve(memory=same[0].id, at=now, reason="written again by hand")
        return
    number = digest(*place, written.content, *((now.isoformat(),) if same else ()), size=5)
    reason = "written by hand" if trusted else "held: somebody wrote it into the file"
    yield Add(memory=number, at=now, reason=reason, value=replace(written, id=number))


def hold_agent_edits(workspace: Workspace, target: Target, edits: AgentEdits) -> Iterator[Operation]:
    """What an agent's tool calls did to a file, as memories in the agent's voice that wait. What they took out stays."""
    memories = {memory.id: memory for memory in workspace.store.log.memories()}
    for number, words in sorted(edits.revised.items()):
        if memory := memories.get(number):
            place = AddedLines(
                text=words, fact=words, after="", scope=memory.scope, category=format_kind(memory.profile, memory.category)
            )
            yield from _hold_agent_line(workspace, target, place, edits.session)
    for added in edits.added:
        yield from _hold_agent_line(workspace, target, added, edits.session)


def _hold_agent_line(workspace: Workspace, target: Target, added: AddedLines, session: str) -> Iterator[Operation]:
    content, now = usable_text(workspace, added.fact), workspace.clock()
    known = (normal_form(memory.content) for memory in workspace.store.log.memories() if memory.content)
    if not content or normal_form(content) in known:
        return
    profile, category = _profile_and_category(target, added.category)
    evidence = Evidence(
        quote=content, event="", session=session, path=str(target.path), at=now, author="assistant", origin=Origin.ASSISTANT
    )
    scope = added.scope or target.scope or USER_SCOPE
    number = digest(str(target.path), scope, format_kind(profile.id, category), content, size=5)
    value = make_memory(
        number, content, now, profile=profile.id, category=category, scope=scope, trusted=False, evidence=(evidence,)
    )
    yield Add(memory=value.id, at=now, reason="held: an agent wrote it into the file", value=value)


def _profile_and_category(target: Target, kind: str) -> tuple[Profile, str]:
    """The profile and category that a line belongs to which stands in a section; the first of the file where it stands in none."""
    name, category = parse_kind(kind)
    found = (profile for profile in target.profiles if profile.id == name and profile.category(category))
    profile = next(found, None)
    return (profile, category) if profile else (target.profiles[0], target.profiles[0].categories[0].id)


def keep_long_lines(workspace: Workspace, edits: Edits) -> Edits:
    """A line a person made longer than a memory can be stays in the file as they wrote it; the memory keeps its words."""
    stubborn = {number: f"- {words}" for number, words in edits.revised.items() if not usable_text(workspace, words)}
    return replace(edits, renamed={**edits.renamed, **stubborn}) if stubborn else edits


def usable_text(workspace: Workspace, words: str) -> str:
    """The words as a memory says them; empty where they can be none."""
    try:
        return clean_memory_text(workspace, words) if words else ""
    except UsageError:
        return ""


def find_base(known: tuple[Output, ...], inside: bytes | None) -> Output | None:
    """Which of what was written and what was being written the file goes back to: the one it is, else the one it shares more with.

    Only lines of kept's count: a person's own stand in what was being written because they stood in the file before.
    """
    if len(known) < 2 or inside is None:
        return known[0] if known else None
    now = hash_bytes(inside)
    exact = next((output for output in reversed(known) if output.hash == now), None)
    if exact is not None:
        return exact
    there = set(inside.decode("utf-8", "replace").splitlines())
    return max(
        known, key=lambda output: sum(line.text in there for line in output.lines if line.key and line.text and not line.users)
    )


def load_base(workspace: Workspace, path: Path, inside: bytes | None) -> Output | None:
    """What was last written to a file (:func:`find_base`), with the user's lines as the file says them that are stored without
    their secrets.
    """
    base, key = find_base(workspace.store.output_states(str(path)), inside), workspace.store.key("redaction")
    if base is None or inside is None or not any(line.fingerprint for line in base.lines):
        return base
    texts = [text for text, _ in split_lines(inside.decode("utf-8", "replace").removeprefix(BOM))]
    there = {_fingerprint(text, key): text for text in texts}
    lines = (replace(line, text=there.get(line.fingerprint, line.text), fingerprint="") for line in base.lines)
    return replace(base, lines=tuple(lines))


def hide_secrets(workspace: Workspace, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines of a file as they may be stored: those of the user that hold a secret without it."""
    key = workspace.store.key("redaction")
    said = [line.text for line in lines if line.users]
    safe = redact("\n".join(said), key=key, more=load_scanner()).text.split("\n") if said else said
    if len(safe) != len(said):  # a secret of several lines
        safe = [f"[redacted:line:{_fingerprint(text, key)[:8]}]" if text.strip() else text for text in said]
    stored = iter(zip(said, safe, strict=True))
    shown = ((line, *(next(stored) if line.users else (line.text, line.text))) for line in lines)
    return tuple(
        line if text == hidden else replace(line, text=hidden, fingerprint=_fingerprint(text, key)) for line, text, hidden in shown
    )


def _fingerprint(text: str, key: bytes) -> str:
    return blake2b(text.rstrip().encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


_NOTE = ".json"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantinedCopy:
    """A copy of a file that waits for a person's word; ``keys`` are the lines of kept's that the file had."""

    copy: Path
    keys: frozenset[str]


def quarantine_file(paths: Paths, path: Path, keys: Collection[str]) -> Path:
    """Copy a file as it stands; the copy takes the place of an earlier one that waits. Returns where it is."""
    release_quarantined(paths, path)
    copy = files.copy_to_quarantine(path, into=_quarantine_folder(paths))
    note = {"path": str(path), "keys": sorted(keys)}
    files.write_if_unchanged(_note_path(copy), json.dumps(note).encode(), expect=files.MISSING, root=paths.state)
    return copy


def find_quarantined(paths: Paths, path: Path) -> QuarantinedCopy | None:
    """The copy of a file that waits for a person's word; None where none does."""
    for note in sorted(_quarantine_folder(paths).glob(f"*{_NOTE}")):
        try:
            body = json.loads(files.read_file(note).data)
            if body["path"] == str(path) and (copy := note.with_suffix("")).is_file():
                return QuarantinedCopy(copy=copy, keys=frozenset(body["keys"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None


def release_quarantined(paths: Paths, path: Path) -> None:
    """Note that no copy of a file waits any more; the copies stay."""
    if quarantined_copy := find_quarantined(paths, path):
        note = _note_path(quarantined_copy.copy)
        files.delete_if_unchanged(note, expect=files.read_file(note).stamp, root=paths.state)


def _quarantine_folder(paths: Paths) -> Path:
    return paths.state / "aside"


def _note_path(copy: Path) -> Path:
    return copy.with_name(copy.name + _NOTE)
