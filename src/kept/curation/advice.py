"""Build the requests in which a model proposes changes to memories, and check the proposed changes.

There are requests about each category, and requests about a whole project, which only ask what later memories, or the user's later
prompts, have made untrue. The model sees memories under short numbers. It replies with changes only. The only memory text that it
writes is a memory's sentence with what a prompt changed in it, which is checked elsewhere (:mod:`kept.curation.successors`).
A change must be of one of five kinds, and there must not be another change for the same memory. Merged memories must agree in
numbers, names and negation. A superseded memory must not be newer than its successor. A person's memories are never changed. The
guard checks whether all changes together remove too much.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Any

from kept.core.event import Origin, least_trusted
from kept.core.memory import TOLD, Memory, Status
from kept.core.operation import (
    ADVISED,
    BOTH_HOLD,
    IN_SESSION,
    MAY_CONTRADICT,
    SESSION_CHARS,
    Approve,
    Merge,
    Operation,
    Resolve,
    Retire,
    Supersede,
    to_facts,
)
from kept.core.pattern import compile_late
from kept.core.statement import find_content, has_opposites, parse_statement, roots_of
from kept.core.text import one_line
from kept.core.value import dataclass, field, replace
from kept.llm.ask import Ask
from kept.llm.reply import parse_as, schema_of
from kept.profiles.profile import Category, Shape

PURPOSE = "curate"
OUTDATED = "outdated"  #: purpose of requests about a whole project
MOST_TOKENS = 4_096
MOST_ENTRIES = 40  # maximum number of memories per request, so that a small model can take all of them into account
FRESH = 14  #: maximum number of new memories among them
PROJECT_FRESH = 30  #: a request about a whole project has at most twice as many memories, and this many held ones
SAID_CHARS = 12_000  #: maximum size of the prompts in a request, as they are shown
_PROMPT_CHARS, _REPLY_CHARS = 300, 160  # shown of a prompt, and of the reply before it
RELATED = 1 / 6  #: two memories are related if they share at least this share of the shorter one's words
_FEW = 4  # a memory with fewer words counts as this long, because one word that it shares with another means little
_JOINTS = compile_late(r"[-_./]+")
_REASON_CHARS = 120
_LESS_TRUSTED = "what supersedes it is trusted less"
_NAMES = 4  # the memory that remains after a merge must contain this many of the first artifacts of the other one
_SHAPES = {
    Shape.FACT: "Each entry is one fact.",
    Shape.DOSSIER: "Entries on one person or thing make a dossier: each says one thing about them, the latest where it changed.",
    Shape.COLLECTION: "Each entry says one thing; what several entries say in other words stands there once.",
    Shape.THEME: "There is one entry for each theme, the latest: it supersedes earlier ones on the same ground.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedChange:
    """A change that a model proposes for the memory with number ``id``. ``into`` is the number of another memory, or 0. ``now`` is
    the memory's sentence as it is since a prompt or a later memory changed it, or empty.
    """

    id: int
    op: str
    into: int
    reason: str
    now: str


_SCHEMA_FIELDS = {"into": "with"}  # the reply names this field ``with``, which is a keyword in Python


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesReply:
    """The reply of a model: a list of changes."""

    operations: tuple[ProposedChange, ...]


def _reply_schema(*without: str) -> dict[str, Any]:
    schema = schema_of(ChangesReply)
    item = schema["properties"]["operations"]["items"]
    item["properties"] = {_SCHEMA_FIELDS.get(name, name): each for name, each in item["properties"].items() if name not in without}
    item["required"] = list(item["properties"])
    return schema


SCHEMA = _reply_schema("now")
OUTDATED_SCHEMA = _reply_schema()  #: of requests about a whole project


@dataclass(frozen=True, kw_only=True, slots=True)
class SaidPrompt:
    """What the user typed in a prompt. ``reply`` is the reply before it, ``event`` the prompt's key."""

    text: str
    reply: str
    event: str
    session: str
    at: datetime

    def format_line(self) -> str:
        """The line that shows the prompt to a model, without its number."""
        before = f"[{self.shown_reply}] " if self.shown_reply else ""
        return f"({self.at.date().isoformat()}, said) {before}{self.shown_text}"

    @property
    def shown_text(self) -> str:
        """What a model sees of the prompt."""
        return one_line(self.text)[:_PROMPT_CHARS]

    @property
    def shown_reply(self) -> str:
        """What a model sees of the reply: its end."""
        return one_line(self.reply)[-_REPLY_CHARS:]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryTable:
    """The memories of one request, in the order of their numbers, and prompts, whose numbers follow.

    ``entries`` are memories of the category, none if the request is about a whole project. ``named`` are other memories, to which a
    change may refer, and which it may only supersede. ``fresh`` has the ids of new memories. ``said`` are prompts, which may only
    supersede.
    """

    category: Category | None
    entries: tuple[Memory, ...]
    named: tuple[Memory, ...] = ()
    fresh: frozenset[str] = frozenset()
    said: tuple[SaidPrompt, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSentence:
    """A memory's sentence with what a prompt changed in it, in a model's words. ``of_memory``: a memory rests on the prompt."""

    memory: Memory
    prompt: SaidPrompt
    text: str
    of_memory: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmCurationResult:
    """The operations that follow from a reply, the sentences in place of memories that a prompt ends, and the number of refused
    changes by reason.
    """

    operations: tuple[Operation, ...] = ()
    sentences: tuple[NewSentence, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)


def should_ask_about(memory: Memory) -> bool:
    """True if a model is asked about a memory: it is active, or held because it may contradict an active one."""
    return bool(memory.content) and (memory.status is Status.ACTIVE or memory.reason == MAY_CONTRADICT)


def build_tables(category: Category, memories: Sequence[Memory], fresh: frozenset[str]) -> Iterator[MemoryTable]:
    """Yield the tables for the requests about a category. Each has some new memories, and those most related to them.

    ``memories`` are all memories of the group for which :func:`should_ask_about` is true, because a memory of another category may
    answer or replace one of this category. A memory without related ones is left out. It was already judged at extraction.
    """
    matter = {memory.id: find_matter(memory.content) for memory in memories}
    answers = [memory for memory in memories if memory.id in fresh and memory.category != category.id]
    near = {
        memory.id: rank_related(memory, memories if memory.id in fresh else answers, matter)
        for memory in memories
        if memory.category == category.id
    }
    new = [memory for memory in memories if near.get(memory.id)]
    for start in range(0, len(new), FRESH):
        some = new[start : start + FRESH]
        ranks = zip_longest(*(near[memory.id] for memory in some))  # the nearest memory of each, then the second nearest of each
        beside = {other.id: other for rank in ranks for other in rank if other is not None and other not in some}
        shown = sorted((*some, *list(beside.values())[: MOST_ENTRIES - len(some)]), key=_first_seen_order)
        entries, named = (tuple(each for each in shown if (each.category == category.id) is own) for own in (True, False))
        yield MemoryTable(category=category, entries=entries, named=named, fresh=fresh)


def build_project_tables(
    memories: Sequence[Memory], fresh: frozenset[str], said: Sequence[SaidPrompt] = ()
) -> Iterator[MemoryTable]:
    """Yield the tables for the requests about a whole project: new memories or prompts, and the memories nearest to them.

    ``memories`` are all memories of the group, ``said`` the user's prompts since a model was last asked. A later memory of another
    category, in other words, may make one untrue. So may what the user said and is held, or what no memory says.
    """
    asked = sorted(filter(should_ask_about, memories), key=_first_seen_order)
    held = [each for each in memories if each.status is Status.HELD and each.origin is Origin.USER and not should_ask_about(each)]
    matter = {memory.id: find_matter(memory.content) for memory in (*asked, *held)}
    new = [memory for memory in asked if memory.id in fresh] if len(asked) + len(held) > 1 else []
    size = PROJECT_FRESH if len(asked) > 2 * PROJECT_FRESH else 2 * PROJECT_FRESH
    batches = [new[start : start + size] for start in range(0, len(new), size)]
    for some, prompts in zip_longest(batches, _batch_prompts(asked, said), fillvalue=()):
        ids = {memory.id for memory in some}
        subjects = [*(matter[memory.id] for memory in some), *(find_matter(prompt.format_line()) for prompt in prompts)]
        shown = [*some, *_nearest([each for each in asked if each.id not in ids], subjects, matter, 2 * PROJECT_FRESH - len(some))]
        shown += _nearest(held, [matter[memory.id] for memory in shown], matter, PROJECT_FRESH)
        named = tuple(sorted(shown, key=_first_seen_order))
        yield MemoryTable(category=None, entries=(), named=named, fresh=fresh, said=tuple(prompts))


def _batch_prompts(memories: Iterable[Memory], said: Iterable[SaidPrompt]) -> Iterator[list[SaidPrompt]]:
    """Yield the prompts in batches of a request's size. Left out are those before all memories, and those that a memory quotes."""
    dated = [memory for memory in memories if memory.last_seen is not None and not (memory.owned or memory.pinned)]
    first = min((memory.last_seen for memory in dated if memory.last_seen), default=None)
    quoted = {item.event for memory in dated for item in memory.evidence}
    batch, left = list[SaidPrompt](), SAID_CHARS
    for prompt in said:
        if first is None or prompt.at <= first or prompt.event in quoted:
            continue
        length = len(prompt.format_line())
        if batch and length > left:
            yield batch
            batch, left = [], SAID_CHARS
        batch.append(prompt)
        left -= length
    if batch:
        yield batch


def _nearest(
    memories: Iterable[Memory], to: Sequence[frozenset[str]], matter: Mapping[str, frozenset[str]], most: int
) -> list[Memory]:
    """The ``most`` memories that share the largest part of their words with one of ``to``, in results of :func:`find_matter`."""
    near = [(max(measure_likeness(matter[each.id], other) for other in to), each) for each in memories]
    return [each for _, each in sorted(near, key=lambda one: -one[0])[:most]]


def _first_seen_order(memory: Memory) -> tuple[bool, float, str]:
    return memory.first_seen is None, memory.first_seen.timestamp() if memory.first_seen else 0.0, memory.id


def find_matter(content: str) -> frozenset[str]:
    """The first letters of each content word of a text. Compounds ("pkg/provenance", "ai-provenance") are split into words."""
    return roots_of(find_content(_JOINTS.sub(" ", content)))


def measure_likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """The share of the shorter text's words that the other text has too. Both are given as :func:`find_matter` returns them."""
    return len(left & right) / max(_FEW, min(len(left), len(right)))


def rank_related(memory: Memory, others: Iterable[Memory], matter: Mapping[str, frozenset[str]]) -> list[Memory]:
    """The ``others`` that are related to a memory, nearest first. ``matter`` maps ids to results of :func:`find_matter`."""
    scores = {}
    for other in others:
        is_one_subject = bool(memory.subject) and memory.subject.casefold() == other.subject.casefold()
        scores[other.id] = 1.0 if is_one_subject else measure_likeness(matter[memory.id], matter[other.id])
    related = [other for other in others if other is not memory and scores[other.id] >= RELATED]
    return sorted(related, key=lambda other: (-scores[other.id], other.id))


def _is_related(left: Memory, right: Memory) -> bool:
    return bool(rank_related(left, (right,), {each.id: find_matter(each.content) for each in (left, right)}))


def fill_curation_prompt(text: str, category: Category) -> str:
    """Fill the template ``text`` of the system prompt with the description of a category."""
    values = {
        "title": category.title,
        "belongs": category.belongs,
        "excludes": category.excludes or "nothing in particular",
        "consolidation": category.consolidation,
        "shape": _SHAPES[category.shape],
    }
    for name, words in values.items():
        text = text.replace(f"{{{{{name}}}}}", words)
    return text


def build_curation_ask(table: MemoryTable, *, system: str, version: str) -> Ask:
    """Build the request about a table. ``system`` is its system prompt, about a category filled by :func:`fill_curation_prompt`."""
    memories = (*table.entries, *table.named)
    lines = [_format_memory_line(number, memory, table) for number, memory in enumerate(memories, 1)]
    lines += [f"{number} {prompt.format_line()}" for number, prompt in enumerate(table.said, len(memories) + 1)]
    about = {item.session for memory in memories for item in memory.evidence if item.session}
    about |= {prompt.session for prompt in table.said}
    return Ask(
        purpose=PURPOSE if table.category else OUTDATED,
        version=version,
        system=system,
        prompt="\n".join(lines),
        schema=SCHEMA if table.category else OUTDATED_SCHEMA,
        most=MOST_TOKENS,
        about=tuple(sorted(about)),
        waits=True,
    )


def _format_memory_line(number: int, memory: Memory, table: MemoryTable) -> str:
    marks = [memory.last_seen.date().isoformat()] if memory.last_seen else []
    marks += ["new"] * (memory.id in table.fresh) + ["theirs"] * (memory.owned or memory.pinned)
    if memory in table.named:
        marks += ["elsewhere"] if table.category else [memory.category] + ["held"] * (not should_ask_about(memory))
    others = {memory.id: place for place, memory in enumerate((*table.entries, *table.named), 1)}
    marks += [f"may contradict {others[memory.superseded_by]}"] if memory.superseded_by in others else []
    return f"{number} ({', '.join(marks)}): {one_line(memory.content)}"


def read_curation_reply(body: Mapping[str, Any], table: MemoryTable) -> LlmCurationResult:
    """Check the changes in a reply, and return their operations. Raises ValueError if the reply does not match the schema."""
    listed = body.get("operations")
    renamed = [
        {"into" if name == "with" else name: value for name, value in item.items()} if isinstance(item, Mapping) else item
        for item in (listed if isinstance(listed, list) else [])
    ]
    changes = parse_as(ChangesReply, {**body, "operations": renamed} if isinstance(listed, list) else body).operations
    counts = Counter(change.id for change in changes)
    known: dict[int, Memory | SaidPrompt] = dict(enumerate((*table.entries, *table.named, *table.said), 1))
    refused: Counter[str] = Counter()
    merges: dict[str, tuple[Memory, list[tuple[Memory, ProposedChange]]]] = {}
    found: list[Operation] = []
    sentences: list[NewSentence] = []
    ending = {change.id for change in changes if change.op != "both"}
    for change in changes:
        memory, other = known.get(change.id), known.get(change.into)
        fault = "more than one change to a memory" if counts[change.id] > 1 else _find_change_fault(change, memory, other, table)
        fault = fault or ("what it points at ends itself" if change.into in ending else "")
        said = _find_typed(other) if isinstance(other, Memory) else other
        if (
            fault in ("", _LESS_TRUSTED)
            and isinstance(memory, Memory)
            and said is not None
            and (text := one_line(change.now))
            and not _find_age_fault(memory, said.at)
        ):
            sentences.append(NewSentence(memory=memory, prompt=said, text=text, of_memory=isinstance(other, Memory)))
        if fault or not isinstance(memory, Memory):
            refused[fault] += 1
        elif change.op == "merge" and isinstance(other, Memory):
            merges.setdefault(other.id, (other, []))[1].append((memory, change))
        else:
            found.append(_to_operation(change, memory, other))
    found = [item for item in found if item.memory not in merges]
    found += [_build_merge(winner, several) for winner, several in merges.values()]
    return LlmCurationResult(operations=tuple(found), sentences=tuple(sentences), refused=dict(+refused))


def _find_typed(memory: Memory) -> SaidPrompt | None:
    """A memory as the prompt in which the person typed its words; None if they did not."""
    for item in reversed(memory.evidence):
        if item.origin is Origin.USER and item.at is not None:
            return SaidPrompt(text=memory.content, reply="", event=item.event, session=item.session, at=item.at)
    return None


def _find_change_fault(
    change: ProposedChange, memory: Memory | SaidPrompt | None, other: Memory | SaidPrompt | None, table: MemoryTable
) -> str:
    """The reason why a change is refused; empty if the change is allowed."""
    if not isinstance(memory, Memory) or (change.into and (other is None or other is memory)):
        return "a number that is not there"
    if memory.owned or memory.pinned:
        return "the person's own"
    if not should_ask_about(memory):
        return "it is held"
    if memory not in table.entries and change.op != "supersede":
        return "of another category"
    if isinstance(other, SaidPrompt):  # what was told ends by an active memory only
        return _LESS_TRUSTED if memory.trigger in TOLD else _find_age_fault(memory, other.at)
    match change.op:
        case "merge":
            if other is None or other not in table.entries or other.owned or other.pinned:
                return "the person's own" if other is not None and (other.owned or other.pinned) else "nothing to merge with"
            return "" if _is_restatement(memory, other) else "they do not say the same"
        case "supersede" if other is not None and _is_trusted_less(other, memory):
            return _LESS_TRUSTED
        case "supersede" | "resolve":
            return _find_succession_fault(memory, other, least=RELATED if table.category else 0.0)
        case "both":
            return "" if other is not None and memory.superseded_by == other.id else "it does not wait beside the other"
        case "retire":
            return ""
    return "no change of a known kind"


def _is_trusted_less(later: Memory, memory: Memory) -> bool:
    """True if a later memory may not end another one: it is not typed and the other is, or it is held and the other was told."""
    return (_is_typed(memory) and not _is_typed(later)) or (memory.trigger in TOLD and not should_ask_about(later))


def _is_typed(memory: Memory) -> bool:
    return memory.origin is Origin.USER or any(evidence.origin is Origin.USER for evidence in memory.evidence)


def _find_succession_fault(memory: Memory, other: Memory | None, *, least: float) -> str:
    if other is None:
        return "nothing supersedes it"
    unrelated = "they are about different things" if least and not _is_related(memory, other) else ""
    return _find_age_fault(memory, other.last_seen) or unrelated


def _find_age_fault(memory: Memory, later: datetime | None) -> str:
    return "what supersedes it is older" if memory.last_seen is None or later is None or later < memory.last_seen else ""


def _to_operation(change: ProposedChange, memory: Memory, other: Memory | SaidPrompt | None) -> Operation:
    reason = _format_reason(change.reason or change.op)
    match change.op, other:
        case _, SaidPrompt():
            # The reason names the prompt but does not quote it, because reasons outlive the conversation that they are about.
            where = f"{IN_SESSION}{other.session[:SESSION_CHARS]}"
            return Retire(memory=memory.id, at=other.at, reason=f"{reason} (you on {other.at.date().isoformat()}, {where})")
        case "supersede", Memory() if not should_ask_about(other):
            return Retire(memory=memory.id, at=other.first_seen, reason=reason)
        case "supersede", Memory():
            return Supersede(memory=memory.id, at=other.first_seen, reason=reason, by=other.id)
        case "resolve", Memory():
            return Resolve(memory=memory.id, at=other.last_seen, reason=reason, by=other.id)
        case "both", _:
            return Approve(memory=memory.id, at=memory.last_seen, reason=BOTH_HOLD)
        case _:
            return Retire(memory=memory.id, at=memory.last_seen, reason=reason)


def _build_merge(winner: Memory, several: Sequence[tuple[Memory, ProposedChange]]) -> Merge:
    """The operation that merges memories into ``winner``. The winner keeps its sentence and takes over their evidence."""
    parts = [winner, *(memory for memory, _ in several)]
    evidence = {(item.event, item.quote): item for memory in parts for item in memory.evidence}
    have = {(item.event, item.quote) for item in winner.evidence}
    times = [memory.first_seen for memory in parts if memory.first_seen is not None]
    last = [memory.last_seen for memory in parts if memory.last_seen is not None]
    facts = replace(
        to_facts(winner),
        advised=True,
        confidence=max(memory.confidence for memory in parts),
        origin=least_trusted(tuple(memory.origin for memory in parts)),
        first_seen=min(times, default=None),
        last_seen=max(last, default=None),
        observations=max(memory.observations for memory in parts),
        candidates=tuple(sorted({number for memory in parts for number in memory.candidates})),
        added=tuple(one for key, one in evidence.items() if key not in have),
    )
    reason = _format_reason(next((change.reason for _, change in several if change.reason), "they say the same"))
    return Merge(memory=winner.id, at=facts.last_seen, reason=reason, losers=tuple(memory.id for memory, _ in several), facts=facts)


def _format_reason(reason: str) -> str:
    return f"{ADVISED}{one_line(reason)[:_REASON_CHARS]}"


def _is_restatement(memory: Memory, winner: Memory) -> bool:
    """True if ``winner`` can replace ``memory``: it is related to it, and has its numbers, names and negation."""
    mine, others, text = parse_statement(memory.content), parse_statement(winner.content), winner.content.casefold()
    named = all(one_line(name).casefold() in text for name in memory.artifacts[:_NAMES])
    is_reversed = bool(mine.denials) != bool(others.denials) or has_opposites(mine.words - others.words, others.words - mine.words)
    return _is_related(memory, winner) and mine.numbers <= others.numbers and named and not is_reversed


def select_applicable(operations: Iterable[Operation], memories: Sequence[Memory]) -> tuple[Operation, ...]:
    """The operations of several replies that can be applied together.

    Only the first operation on each memory is kept. It is left out if another operation ends a memory to which it refers.
    """
    active = {memory.id for memory in memories if should_ask_about(memory)}
    changed: set[str] = set()
    ended: set[str] = set()
    found: list[Operation] = []
    for operation in operations:
        losers, other = set(getattr(operation, "losers", ())), getattr(operation, "by", "")
        ends = losers or {operation.memory}
        mine = {operation.memory, *losers}
        if mine <= active - changed and (not other or other in active - ended):
            changed |= mine
            ended |= ends
            found.append(operation)
    return tuple(operation for operation in found if getattr(operation, "by", "") not in ended)
