"""Convert a person's edits of a file of lines to operations on memories. The store is read but not written.

A file that looks damaged is copied to a folder, the quarantine. The copy waits there until a person says that its content is their
edit. A note beside the copy records which file it is from and which lines kept had written in that file. Memories that are added
later therefore do not count as deleted from the copy.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from kept.core.artifact import find_artifacts
from kept.core.digest import digest, hash_bytes
from kept.core.document import AddedLines, Edits, Line
from kept.core.errors import UsageError
from kept.core.event import Origin
from kept.core.markup import BOM, parse_fact, parse_memory_line, split_lines
from kept.core.memory import USER_SCOPE, Evidence, Memory, Status
from kept.core.operation import Add, Approve, Operation, Reject, Retire, Revise, to_facts
from kept.core.redact import load_scanner, redact
from kept.core.text import normal_form, one_line
from kept.core.value import dataclass, replace
from kept.local import files
from kept.memories.decisions import hold_conflict
from kept.memories.new_memory import make_memory
from kept.memories.wording import clean_memory_text, find_new_end
from kept.outputs.agent_edits import AgentEdits
from kept.outputs.compose.sheet import contradicted_texts
from kept.outputs.merge_edits import is_fact
from kept.outputs.targets import Target
from kept.paths import Paths
from kept.profiles.profile import Profile, format_kind, parse_kind
from kept.store.values import Output
from kept.workspace import Workspace

_SHOWN = (Status.ACTIVE, Status.HELD, Status.SUPERSEDED, Status.RESOLVED)


def edits_to_operations(workspace: Workspace, target: Target, edits: Edits, lines: Sequence[Line] = ()) -> Iterator[Operation]:
    """Yield the operations for a person's edits of a file whose previous text was ``lines``."""
    contents = {line.key: parse_fact(line.text)[0] for line in lines if is_fact(line)}
    now, memories = workspace.clock(), workspace.store.log.memories()
    was = contradicted_texts(memories)
    for number, words in sorted(edits.revised.items()):
        memory = workspace.store.log.memory(number)
        if memory is not None and memory.content and _is_changed_since(workspace, memory, contents.get(number, "")):
            yield from _hold_conflict(workspace, target, memory, words, now)
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
    """Yield the operations for a changed line.

    ``line`` contains its words, and the earlier value that it showed (empty if it showed none).
    """
    words, was = line
    if not usable_text(workspace, words):
        return
    text, about = parse_memory_line(words, memory.content, memory.about, was)
    content = clean_memory_text(workspace, text)
    if content == one_line(memory.content) and memory.status is Status.ACTIVE:
        return
    end = find_new_end(workspace, memory, content)
    facts = replace(to_facts(memory), content=content, artifacts=find_artifacts(content), about=about, valid_until=end)
    yield Revise(memory=memory.id, at=now, reason="edited by hand", facts=facts)
    # An edit does not reactivate the ended memories that a day note also shows.
    if memory.status not in (Status.ACTIVE, Status.SUPERSEDED, Status.RESOLVED):
        yield Approve(memory=memory.id, at=now, reason="edited by hand")


def _is_changed_since(workspace: Workspace, memory: Memory, line: str) -> bool:
    """True if a line shows an earlier content of a memory, because the memory was changed after the line was written."""
    before = {
        normal_form(operation.value.content if isinstance(operation, Add) else operation.facts.content)
        for _, operation in workspace.store.log.operations_on(memory.id)
        if isinstance(operation, Add | Revise)
    }
    return normal_form(line) in before - {normal_form(memory.content)}


def _hold_conflict(workspace: Workspace, target: Target, memory: Memory, words: str, now: datetime) -> Iterator[Operation]:
    """Yield the operation that holds the person's words for a line whose memory was changed elsewhere in the meantime."""
    content = usable_text(workspace, words)
    if not content:
        return
    number = digest(str(target.path), memory.id, content, size=5)
    if normal_form(content) == normal_form(memory.content) or workspace.store.log.memory(number) is not None:
        return
    yield hold_conflict(number, memory, content, now, path=str(target.path))


def _is_contradiction_removed(memory: Memory, words: str, was: str) -> bool:
    """True if a person deleted only the earlier value from a line, which ends that value.

    ``was`` is the earlier value, empty if the line showed none.
    """
    parsed = parse_memory_line(words, memory.content, memory.about)
    return bool(was) and parsed == (one_line(memory.content), memory.about) and memory.status is Status.ACTIVE


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
    yield from add_written_line(written, memories, place, now, trusted=trusted)


def add_written_line(
    written: Memory, memories: Iterable[Memory], place: tuple[str, ...], now: datetime, *, trusted: bool
) -> Iterator[Operation]:
    """Yield the operation for a line that somebody added: usually a new memory, whose id is derived from ``place``.

    Nothing is yielded if an active, held or rejected memory says the same. If an ended memory says the same and ``trusted`` is set,
    that memory becomes active again. Without ``trusted``, every line is held, because any program can write to the file.
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
    """Yield operations that hold what an agent's tool calls wrote to a file. Lines that the calls removed are kept."""
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
    """The profile and category of the section that contains a line. A line outside all sections gets the file's first ones."""
    name, category = parse_kind(kind)
    profile = next((profile for profile in target.profiles if profile.id == name and profile.category(category)), None)
    return (profile, category) if profile else (target.profiles[0], target.profiles[0].categories[0].id)


def keep_long_lines(workspace: Workspace, edits: Edits) -> Edits:
    """Leave each revised line that is too long for a memory in the file, as the person wrote it. The memory is not changed."""
    unusable = {number: f"- {words}" for number, words in edits.revised.items() if not usable_text(workspace, words)}
    return replace(edits, renamed={**edits.renamed, **unusable}) if unusable else edits


def usable_text(workspace: Workspace, words: str) -> str:
    """The words in the form that a memory stores as its content. Empty if they cannot be the content of a memory."""
    try:
        return clean_memory_text(workspace, words) if words else ""
    except UsageError:
        return ""


def find_base(states: tuple[Output, ...], inside: bytes | None) -> Output | None:
    """Choose the output on which a file is based. There are several in ``states`` if a write was interrupted.

    The result is the output that is identical to the file, or else the one that has the most lines in common with it. Only kept's
    own lines are compared, because a write copies the person's lines from the file. None if there is no output.
    """
    if len(states) < 2 or inside is None:
        return states[0] if states else None
    now = hash_bytes(inside)
    exact = next((output for output in reversed(states) if output.hash == now), None)
    if exact is not None:
        return exact
    inside_lines = set(inside.decode("utf-8", "replace").splitlines())
    return max(
        states,
        key=lambda output: sum(line.text in inside_lines for line in output.lines if line.key and line.text and not line.users),
    )


def load_base(workspace: Workspace, path: Path, inside: bytes | None) -> Output | None:
    """The output on which a file is based (:func:`find_base`).

    The store keeps the user's lines without their secrets. These lines are restored from the file.
    """
    base, key = find_base(workspace.store.output_states(str(path)), inside), workspace.store.key("redaction")
    if base is None or inside is None or not any(line.fingerprint for line in base.lines):
        return base
    texts = [text for text, _ in split_lines(inside.decode("utf-8", "replace").removeprefix(BOM))]
    known_texts = {_fingerprint(text, key): text for text in texts}
    lines = (replace(line, text=known_texts.get(line.fingerprint, line.text), fingerprint="") for line in base.lines)
    return replace(base, lines=tuple(lines))


def hide_secrets(workspace: Workspace, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines of a file in the form in which they may be stored, with the secrets in the user's lines redacted."""
    key = workspace.store.key("redaction")
    texts = [line.text for line in lines if line.users]
    safe = redact("\n".join(texts), key=key, more=load_scanner()).text.split("\n") if texts else texts
    if len(safe) != len(texts):  # a secret that spans several lines
        safe = [f"[redacted:line:{_fingerprint(text, key)[:8]}]" if text.strip() else text for text in texts]
    stored = iter(zip(texts, safe, strict=True))
    shown = ((line, *(next(stored) if line.users else (line.text, line.text))) for line in lines)
    return tuple(
        line if text == hidden else replace(line, text=hidden, fingerprint=_fingerprint(text, key)) for line, text, hidden in shown
    )


def _fingerprint(text: str, key: bytes) -> str:
    return blake2b(text.rstrip().encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


_NOTE = ".json"


@dataclass(frozen=True, kw_only=True, slots=True)
class QuarantinedCopy:
    """A copy in the quarantine about which the person has not decided. ``keys`` contains the ids of the memories in the file."""

    copy: Path
    keys: frozenset[str]


def copy_to_quarantine(paths: Paths, path: Path) -> Path:
    """Copy a file to the quarantine and return the path of the copy. The person is not asked to decide about it."""
    return files.copy_to_quarantine(path, into=_quarantine_folder(paths))


def quarantine_file(paths: Paths, path: Path, keys: Collection[str]) -> Path:
    """Copy a file to the quarantine and return the path of the copy, about which the person is to decide.

    An earlier copy of the same file counts as decided.
    """
    release_quarantined(paths, path)
    copy = copy_to_quarantine(paths, path)
    note = {"path": str(path), "keys": sorted(keys)}
    files.write_if_unchanged(_note_path(copy), json.dumps(note).encode(), expect=files.MISSING, root=paths.state)
    return copy


def find_quarantined(paths: Paths, path: Path) -> QuarantinedCopy | None:
    """Find the copy of a file about which the person has not decided. None if there is none."""
    for note in sorted(_quarantine_folder(paths).glob(f"*{_NOTE}")):
        try:
            body = json.loads(files.read_file(note).data)
            if body["path"] == str(path) and (copy := note.with_suffix("")).is_file():
                return QuarantinedCopy(copy=copy, keys=frozenset(body["keys"]))
        except (ValueError, KeyError, TypeError):
            continue
    return None


def release_quarantined(paths: Paths, path: Path) -> None:
    """Mark the quarantined copy of a file as decided. The copy itself is not deleted."""
    if quarantined_copy := find_quarantined(paths, path):
        note = _note_path(quarantined_copy.copy)
        files.delete_if_unchanged(note, expect=files.read_file(note).stamp, root=paths.state)


def _quarantine_folder(paths: Paths) -> Path:
    return paths.state / "aside"


def _note_path(copy: Path) -> Path:
    return copy.with_name(copy.name + _NOTE)
