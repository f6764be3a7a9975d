"""Search memories, summaries and turns for answers to a question. Results are ordered best first and have reasons. Read-only.

A hook searches before every prompt, so this module imports little.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from kept.core.dates import is_month_first_locale, parse_time_span
from kept.core.digest import text_hash
from kept.core.project import fallback_project_folder
from kept.core.text import index_words, project_label
from kept.core.times import format_instant, format_optional_instant, parse_optional_instant
from kept.core.value import dataclass, replace
from kept.recall.embed.levels import detect_language, find_asked
from kept.recall.index import Index, SearchLimits, SearchUnit, UnitKind, open_index
from kept.recall.meaning import MeaningQuery, QueryContext, embed_query
from kept.recall.question import build_phrases, find_compounds, is_telling, select_search_terms, telling_words
from kept.recall.rank import TIME, SaidTurn, add_conversation_score, add_surroundings, conversation_scores, fuse_scores
from kept.recall.relevance import ACROSS, DOUBT, NEAR, Spread, cosine_spread, stem, weigh_requests

if TYPE_CHECKING:
    from kept.recall.index.vectors import NearUnit
    from kept.workspace import Workspace


EVERYWHERE = (UnitKind.MEMORY, UnitKind.SUMMARY, UnitKind.TURN)
_POOL = 300  # maximum number of candidates from the lookup by words, and also from the lookup by meaning
# In an archive with more than _MANY events, only the rarest words of a question are searched, which match at most _MATCHED turns.
_MANY = 100_000
_MATCHED = 40_000
_OFTEN = 2_000  # a word in more turns than this does not distinguish conversations
_CONSIDERED = 60  # maximum number of memories returned for a message
_SURROUNDED = 100  # the neighbours of this many of the best turns are considered
_SAID = 80  # maximum number of turns that are near by meaning, and also of those found by words
_BESIDE = 500  # approximate size of the sample of memories from which the usual cosine with a message is computed
TELLING = 0.3  # meaning is given as a reason from this cosine on
_TOLD = 5  # maximum number of words in a reason
_LEAST_WORDS, _SHORT = 3, 100  # words of a turn that may be near by meaning; characters in which they are counted
_BY_MEANING, _BESIDE_IT = "its meaning", "what was said beside it"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Restrictions of a search. An empty field restricts nothing.

    ``scopes`` are scopes of memories (``"user"``, ``"project:<key>"``). A turn has the scope of the project in which it was said.
    ``project`` is part of a project's name. The time of the results is limited by ``since`` (inclusive) and ``until`` (exclusive).
    ``statuses`` apply to memories only.
    """

    scopes: tuple[str, ...] = ()
    project: str = ""
    category: str = ""
    since: datetime | None = None
    until: datetime | None = None
    statuses: tuple[str, ...] = ("active", "held")


NO_FILTERS = Filters()


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A search result.

    ``id`` is the id of a memory, the key of a turn, or the key of the first event that a summary covers. ``score`` orders the hits
    of one search, higher is better. It cannot be compared with scores of other searches. ``own`` is the part of the score that
    comes from the hit's own words and meaning. ``words`` is its BM25 score relative to the best of the search. ``similarity`` is
    the cosine of the meanings, or None if it was not computed. ``reasons`` explain the hit in words. ``project`` is the display
    name of the scope.
    """

    kind: UnitKind
    id: str
    text: str
    score: float
    similarity: float | None
    reasons: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    scope: str
    project: str
    category: str = ""
    status: str = ""
    confidence: float = 1.0
    author: str = ""
    session: str = ""
    own: float = 0.0
    words: float = 0.0

    @property
    def is_far(self) -> bool:
        """True if the hit was found only by meaning or as a neighbour of another turn, and its cosine is too low to be useful.

        Also true for one or two words or an emoji in a conversation: they mean nothing that can be near a question.
        """
        by_words = any(not reason.startswith((_BY_MEANING, _BESIDE_IT)) for reason in self.reasons)
        short = self.kind is UnitKind.TURN and len(index_words(self.text[:_SHORT]).split()) < _LEAST_WORDS
        return not by_words and (short or (self.similarity or 0.0) < NEAR)


def leave_out_far(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those that are far (:attr:`Hit.is_far`). A turn beside a hit that stays is left in."""
    near = {hit.session for hit in hits if not hit.is_far}  # a hit shows the turns around it
    return [hit for hit in hits if not hit.is_far or (hit.similarity is None and hit.session in near)]


def search(
    workspace: "Workspace | QueryContext",
    query: str,
    *,
    where: Sequence[UnitKind] = EVERYWHERE,
    limit: int = 10,
    filters: Filters = NO_FILTERS,
    meaning: bool = True,
    of_each: bool = False,
) -> tuple[Hit, ...]:
    """The hits for a question, best first. Any text is a valid question, because there are no search operators.

    ``limit`` is the maximum number of hits or, with ``of_each``, of hits of each kind. Without ``meaning`` only words are compared,
    which is cheapest in a new process. Raises StoreError if there is no store, and KeptError if the configured embedding server
    does not answer.
    """
    with open_index(workspace.paths.store) as index:
        look = _IndexSearch(workspace, index, query, filters, meaning=meaning)
        hits = [hit for kind in where for hit in look.find_hits(kind, limit)]
    return tuple(sorted(hits, key=lambda each: (-each.score, each.kind, each.id))[: None if of_each else limit])


def find_near_memories(workspace: "Workspace | QueryContext", message: str, scopes: Sequence[str]) -> dict[str, float]:
    """The active memories of these scopes that are near a message in meaning, best first.

    Maps ids to the number of standard deviations by which a memory is nearer than others. A memory gets extra deviations if
    messages of this kind need such memories. It also gets some if its language differs from the message's, because the two cannot
    share words. The value of the key :data:`DOUBT` says how unlikely it is that the message asks for anything remembered. Empty if
    meanings cannot be compared. Raises the errors of :func:`search`.
    """
    if not scopes:
        return {}
    limits = Filters(scopes=tuple(scopes), statuses=("active",))
    with open_index(workspace.paths.store) as index:
        look = _IndexSearch(workspace, index, message, limits, meaning=True, request=True)
        spread, doubt, near = look.find_needed()
        apart = {item: spread.deviations_above(unit.similarity) + need for item, (unit, need) in near.items()}
        best = sorted(apart, key=lambda item: (-apart[item], item))[:_CONSIDERED]
        units = index.load_units(UnitKind.MEMORY, best)
    spoken = detect_language(message)
    found = {
        unit.id: apart[item] + ACROSS * (detect_language(unit.text) != spoken)
        for item, unit in units.items()
        if near[item][0].mark == text_hash(unit.text)
    }
    above = {memory: found[memory] for memory in sorted(found, key=lambda each: -found[each]) if found[memory] > 0}
    return above | {DOUBT: doubt} if above else {}


def find_said_turns(
    workspace: "Workspace | QueryContext", message: str, scope: str, *, meaning: bool = True
) -> tuple[float, list[SaidTurn], MeaningQuery | None]:
    """Three results: the doubt that a message asks for anything remembered (0 if nothing can tell), the turns of a scope near the
    message, and the message's meaning, None if meanings cannot be compared.

    Raises the errors of :func:`search`.
    """
    with open_index(workspace.paths.store) as index:
        look = _IndexSearch(workspace, index, message, Filters(scopes=(scope,)), meaning=meaning, request=True)
        return look.find_said_turns()


class _IndexSearch:
    """One search in an index. It has the words, the meaning, the time and the limits of a question, and does the lookups.

    ``request`` means that the query is what somebody typed for an agent, and not a question to kept.
    """

    def __init__(
        self,
        workspace: "Workspace | QueryContext",
        index: Index,
        query: str,
        filters: Filters,
        *,
        meaning: bool,
        request: bool = False,
    ) -> None:
        self._index = index
        self._projects = {directory: (scope, name) for directory, scope, name in index.list_projects()}
        self._names = dict(self._projects.values())
        self._words = telling_words(query)
        self._joined = find_compounds(query)
        self._phrases = build_phrases(self._words, self._joined)
        self._limits, self._open = self._to_limits(filters, format_instant(workspace.clock()))
        month_first = is_month_first_locale(workspace.env)
        self._when = parse_time_span(query, workspace.clock(), workspace.zone, month_first=month_first)
        self.floor = workspace.settings.recall.floor
        self._asked = embed_query(workspace, query, request=request) if meaning else None

    def find_hits(self, kind: UnitKind, most: int) -> list[Hit]:
        """The best hits of a kind, at most ``most``."""
        pool = max(_POOL, most)
        worded = self.find_by_words(kind, pool)
        words = {item: score for item, score, _ in worded}
        span = self._time_limits()
        inside = self._index.items_within(kind, span) if span else frozenset()
        replies = frozenset(item for item, _, reply in worded if reply)
        near = self.find_by_meaning(kind, pool, also=words)
        most_words = max(words.values(), default=0.0) or 1.0
        own = fuse_scores(words, {item: near_unit.similarity for item, near_unit in near.items()}, replies)
        scores = self._add_conversation_scores(self._add_surroundings(own, replies)) if kind is UnitKind.TURN else own
        if inside:
            timely = {item: score + TIME * (item in inside) for item, score in scores.items()}
            scores = (
                self._rank_by_time(kind, span, scores) or timely
            )  # a question that only names a time has hits of that time only
        best = sorted(scores, key=lambda item: (-scores[item], item))[:most]
        units = self._index.load_units(kind, best)
        hits = []
        for item in best:
            unit = units.get(item)
            if unit is not None:
                close = _current_near(unit, near.get(item))
                if close or item in words or item not in own or item in inside:
                    beside = item not in own and item not in inside
                    reasons = self._match_reasons(unit, close, worded=item in words, around=beside, timely=item in inside)
                    hit = self._build_hit(unit, scores[item], close, reasons)
                    hits.append(replace(hit, own=own.get(item, 0.0), words=words.get(item, 0.0) / most_words))
        return hits

    def find_by_words(self, kind: UnitKind, most: int = _POOL) -> tuple[tuple[int, float, bool], ...]:
        """The rows of units with any of the words, as tuples (row, BM25 score, is a reply).

        Units with a phrase or a compound of the words have a higher score.
        """
        ranked = _MATCHED if kind is UnitKind.TURN and self._index.count_conversations()[1] > _MANY else None
        counts = self._index.count_matches(kind, (*self._words, *self._phrases), _MATCHED)
        words = select_search_terms(self._words, self._phrases, counts, ranked)
        return self._index.search_words(kind, words, self._limits, most)

    def find_by_meaning(self, kind: UnitKind, most: int, also: Iterable[int] = ()) -> "dict[int, NearUnit]":
        """The units near in meaning, and those in ``also``, which were found by words. Maps rows to units."""
        if self._asked is None:
            return {}
        among = None if self._open and kind is not UnitKind.MEMORY else self._index.items_within(kind, self._limits)
        near = self._asked.find_nearest(kind, most, among)
        found = {item: unit for item, unit in near.items() if unit.similarity >= self.floor}
        return found | self._asked.of(kind, [item for item in also if item not in found])

    def find_needed(self) -> "tuple[Spread, float, dict[int, tuple[NearUnit, float]]]":
        """Three results about the memories within the limits, for a question.

        The spread of the question's cosines with them, the doubt that the question asks for anything remembered, and the nearest
        memories. These are near the question, near what such questions need, or have a request near it. Each has its added
        deviations.
        """
        asked, among = self._asked, sorted(self._index.items_within(UnitKind.MEMORY, self._limits))
        if asked is None:
            return cosine_spread((), len(among)), 0.0, {}
        some = among[:: 1 + len(among) // _BESIDE]
        beside = asked.of(UnitKind.MEMORY, some)
        doubt, need = find_asked(asked.model, asked.question)
        like = asked.vectors.find_nearest(UnitKind.MEMORY, need, _POOL, among)
        nearest = asked.find_nearest(UnitKind.MEMORY, _POOL, among, need=True)
        others = asked.of(UnitKind.MEMORY, some, need=True)
        cosines = {item: unit.similarity for item, unit in nearest.items()}
        requested = weigh_requests(cosines, [unit.similarity for unit in others.values()], len(among))
        near = asked.of(UnitKind.MEMORY, {*like, *requested, *asked.find_nearest(UnitKind.MEMORY, _POOL, among)})
        needed = asked.vectors.of(UnitKind.MEMORY, near, need)
        wanted = {item: (unit, needed[item].similarity + requested.get(item, 0.0)) for item, unit in near.items()}
        return cosine_spread([unit.similarity for unit in beside.values()], len(among)), doubt, wanted

    def find_said_turns(self) -> tuple[float, list[SaidTurn], MeaningQuery | None]:
        """See :func:`find_said_turns`."""
        kind, asked, doubt, own, meant = UnitKind.TURN, self._asked, 0.0, dict[int, "NearUnit"](), dict[int, float]()
        found = self.find_by_words(kind)
        replies = frozenset(item for item, _, reply in found if reply)
        worded = fuse_scores({item: score for item, score, _ in found}, {}, replies)
        scores = self._add_conversation_scores(self._add_surroundings(worded, replies))
        words = {item: score for item, score in scores.items() if item not in replies}
        if asked is not None:
            doubt = find_asked(asked.model, asked.question)[0]
            among = self._index.items_within(kind, self._limits)
            items = {*words, *(item for need in (False, True) for item in asked.find_nearest(kind, _POOL, among, need=need))}
            own, beside = asked.of(kind, items), asked.of(kind, items, need=True)
            meant = {item: (unit.similarity + beside.get(item, unit).similarity) / 2 for item, unit in own.items()}
        best = {item for scores in (meant, words) for item in sorted(scores, key=lambda item: -scores[item])[:_SAID]}
        turns = []
        for item, unit in self._index.load_units(kind, best).items():
            if unit.author == "human":
                near = meant.get(item) if _current_near(unit, own.get(item)) else None
                shared = len(self._shared_words(unit)) / max(1, len(self._words))
                turns.append(SaidTurn(unit.id, unit.text, unit.session, near, shared, words.get(item, 0.0), item, unit.first_at))
        return doubt, turns, asked

    def _build_hit(self, unit: SearchUnit, score: float, near: "NearUnit | None", reasons: tuple[str, ...]) -> Hit:
        """Build the hit for a unit."""
        scope, name = (
            (unit.scope, self._names.get(unit.scope, "")) if unit.scope else self._scope_and_name(unit.directory, unit.path)
        )
        return Hit(
            kind=unit.kind,
            id=unit.id,
            text=unit.text,
            score=score,
            similarity=near.similarity if near else None,
            reasons=reasons,
            first_at=parse_optional_instant(unit.first_at),
            last_at=parse_optional_instant(unit.last_at),
            scope=scope,
            project=name and project_label(name),
            category=unit.category,
            status=unit.status,
            confidence=unit.confidence,
            author=unit.author,
            session=unit.session,
        )

    def _add_surroundings(self, own: Mapping[int, float], replies: frozenset[int]) -> dict[int, float]:
        best = sorted(own, key=lambda item: (-own[item], item))[:_SURROUNDED]
        around = self._index.surrounding_turns(best)
        said = replies | {item for others in around.values() for item, reply in others if reply}
        raised = add_surroundings(own, {item: [other for other, _ in others] for item, others in around.items()}, said)
        if self._open:
            return raised
        allowed = self._index.items_within(UnitKind.TURN, self._limits)
        return {item: score for item, score in raised.items() if item in own or item in allowed}

    def _add_conversation_scores(self, scores: Mapping[int, float]) -> dict[int, float]:
        """Combine the score of each turn with how well its whole conversation matches the question."""
        count, events = self._index.count_conversations()
        turns_with = [self._index.count_said_by_thread(word, _OFTEN) for word in self._words]
        worth = conversation_scores(turns_with, count, events)
        threads = self._index.threads_of(scores) if worth else {}
        return {item: add_conversation_score(score, worth.get(threads.get(item, 0), 0.0)) for item, score in scores.items()}

    def _time_limits(self) -> SearchLimits | None:
        """The limits narrowed to the time that the question names. None if the question does not name a time."""
        if self._when is None:
            return None
        since = max(filter(None, (self._limits.since, format_optional_instant(self._when.since))), default=None)
        until = min(filter(None, (self._limits.until, format_optional_instant(self._when.until))), default=None)
        return replace(self._limits, since=since, until=until)

    def _rank_by_time(self, kind: UnitKind, span: SearchLimits | None, scores: Mapping[int, float]) -> dict[int, float]:
        """Scores that order the units of the time which the question names, the latest first.

        Empty if the question asks for anything besides a time.
        """
        if span is None or self._when is None or is_telling(self._when.rest):
            return {}
        latest = self._index.latest_items(kind, span, _POOL)
        return {item: TIME - place / 1e6 + scores.get(item, 0.0) for place, item in enumerate(latest)}

    def _shared_words(self, unit: SearchUnit) -> list[str]:
        words = index_words(unit.text).split()
        there = frozenset(map(stem, (*words, *map("".join, pairwise(words)))))
        as_one = {word for first, second, whole in self._joined if stem(whole) in there for word in (first, second)}
        return [word for word in self._words if word in as_one or stem(word) in there]

    def _match_reasons(
        self, unit: SearchUnit, near: "NearUnit | None", *, worded: bool, around: bool = False, timely: bool = False
    ) -> tuple[str, ...]:
        shared = self._shared_words(unit) if worded else []
        reasons = (
            f"its words: {', '.join(shared[:_TOLD])}" if shared else "",
            f"{_BY_MEANING} ({near.similarity:.2f})" if near and near.similarity >= TELLING else "",
            f"its time: {self._when.label}" if timely and self._when else "",
            _BESIDE_IT if around else "",
        )
        return tuple(filter(None, reasons)) or ("its words" if unit.needed_for == "[]" else "a request that needs it",)

    def _to_limits(self, filters: Filters, now: str) -> tuple[SearchLimits, bool]:
        """Convert filters to limits of the index. The second result is True if they do not exclude any turn."""
        scopes = set(filters.scopes) or None
        if filters.project:
            part = filters.project.casefold()
            named = {
                scope for scope, name in self._names.items() if part in name.casefold() or part in project_label(name).casefold()
            }
            scopes = named if scopes is None else named & scopes
        threads = None
        if scopes is not None:
            rows = self._index.list_threads()
            threads = tuple(number for number, directory, path in rows if self._scope_and_name(directory, path)[0] in scopes)
        limits = SearchLimits(
            now=now,
            statuses=filters.statuses,
            scopes=None if scopes is None else tuple(sorted(scopes)),
            threads=threads,
            category=filters.category,
            since=format_instant(filters.since) if filters.since else None,
            until=format_instant(filters.until) if filters.until else None,
        )
        return limits, threads is None and filters.since is None and filters.until is None

    def _scope_and_name(self, directory: str, path: str) -> tuple[str, str]:
        """The scope and the project's name for a directory or, if that is unknown, for the transcript at ``path``."""
        return self._projects.get(directory or (fallback_project_folder(path) if path else ""), ("", ""))


def _current_near(unit: SearchUnit, near: "NearUnit | None") -> "NearUnit | None":
    """The nearness of a unit. None if its vector was made from an earlier text of the unit."""
    return near if near is not None and near.mark == text_hash(unit.text) else None


_TURNS = 200  # number of best turns from which sessions are ranked
_SECOND = 0.5  # weight of a session's second-best turn, if that of its best turn is 1


def search_sessions(
    workspace: "Workspace | QueryContext", query: str, *, limit: int = 10, filters: Filters = NO_FILTERS
) -> tuple[Hit, ...]:
    """The sessions that answer a question, best first. Each is given as its best turn, with the score of the session.

    Raises the errors of :func:`search`.
    """
    turns: dict[str, list[Hit]] = {}
    for hit in search(workspace, query, where=(UnitKind.TURN,), limit=_TURNS, filters=filters):
        turns.setdefault(hit.session, []).append(hit)
    found = [replace(hits[0], score=hits[0].score + _SECOND * sum(hit.score for hit in hits[1:2])) for hits in turns.values()]
    return tuple(sorted(found, key=lambda hit: (-hit.score, hit.session))[:limit])
