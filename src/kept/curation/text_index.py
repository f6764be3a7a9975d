"""The index of a large group's texts. It finds texts by hashed tokens, which stand for words and other features."""

import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from kept.core.codec import to_canonical_json
from kept.core.digest import digest
from kept.core.errors import DamagedError
from kept.core.fence import CAUSE
from kept.core.memory import WITHDRAWAL, CandidateVerdict, Memory
from kept.core.statement import Statement, parse_statement
from kept.core.text import normal_form
from kept.curation.curate import is_eligible
from kept.curation.curate.clusters import beginnings_of, is_brief, is_wish, meaning_of
from kept.curation.curate.plans import is_agent_suggestion, is_person_owned
from kept.curation.curate.texts import Text, choices_of, find_place, has_own_words
from kept.curation.lifecycle import CurationRules
from kept.extraction.questions.answer import apply_overrulings
from kept.store.log import Log
from kept.store.memories import GroupTexts, StoredText

QUESTION, THEME, WISH, TAKEN, WHY, SUGGESTION = "question", "theme", "wish", "withdrawal", "cause", "suggestion"
DECIDED = "decided elsewhere"


class TextIndex:
    """The index of the texts of one group. Curation uses it to find the part of the group that is related to a change.

    ``others`` are groups of other profiles, in which a person may have decided on the same texts.
    """

    def __init__(
        self, log: Log, group: tuple[str, str], rules: CurationRules, *, blocked: frozenset[str], others: frozenset[tuple[str, str]]
    ) -> None:
        self.log, self.group, self.others = log, group, others
        self.texts: GroupTexts = log.texts(*group)
        self._rules, self.blocked = rules, blocked
        self._tokens: dict[tuple[object, ...], str] = {}

    def index_group(
        self, judged: Iterable[CandidateVerdict], memories: Iterable[Memory], *, elsewhere: Iterable[Memory], texts: Iterable[Text]
    ) -> None:
        """Index a whole group.

        ``elsewhere`` are memories of other groups that may be based on its candidates. ``texts`` are those of its texts that are
        parsed already.
        """
        verdicts: dict[str, list[CandidateVerdict]] = {}
        for each in self.eligible(apply_overrulings(judged)):
            verdicts.setdefault(each.candidate.content, []).append(each)
        own: dict[str, list[Memory]] = {}
        for memory in filter(has_own_words, memories):
            own.setdefault(memory.content, []).append(memory)
        known = {text.content: text for text in texts}
        old = {_parse_body(stored.body)[0]: stored for stored in self.texts.every()}
        for content in sorted(verdicts.keys() | own.keys()):
            self._index_text(content, verdicts.get(content, ()), own.get(content, ()), old.pop(content, None), known.get(content))
        for content in sorted(collect_decided_forms(elsewhere) - verdicts.keys() - own.keys()):
            place, body = find_place(self.group, content, None), to_canonical_json([content, [], ""])
            self.texts.put(StoredText(place, body, self.token(DECIDED)), content, old.pop(content, None))
        for stored in old.values():
            self.texts.drop(stored)
        for memory in (*memories, *elsewhere):
            self.texts.put_candidates(memory.id, memory.candidates)

    def index_memories(self, ids: Iterable[str]) -> None:
        """Update the texts and the candidates of these memories in the index."""
        for memory in self.log.some(list(ids)):
            self.texts.put_candidates(memory.id, memory.candidates)
            if (memory.profile, memory.scope) == self.group and has_own_words(memory):
                self.index_text(memory.content, (), [memory])
            else:
                self.texts.drop_places(memories=[memory.id])

    def eligible(self, judged: Iterable[CandidateVerdict]) -> Iterator[CandidateVerdict]:
        """The candidates that take part in curation, which are neither refused nor blocked."""
        return (each for each in judged if is_eligible(each.verdict) and each.candidate.id not in self.blocked)

    def find_decided(self, contents: Iterable[str]) -> frozenset[str]:
        """The ``contents`` on which a person decided in another profile."""
        forms = {content: normal_form(content) for content in contents}
        stored = self.texts.of_forms(forms.values())
        decided = {_parse_body(text.body)[0] for text in stored if text.tokens == self.token(DECIDED)}
        return frozenset(content for content, form in forms.items() if form in decided)

    def index_text(self, content: str, verdicts: Sequence[CandidateVerdict], memories: Sequence[Memory]) -> tuple[int, bool]:
        """Index a text with the candidates and memories that have it. Returns its place, and True if the place is new."""
        alike = self.texts.of_forms([normal_form(content)])
        old = next((stored for stored in alike if _parse_body(stored.body)[0] == content), None)
        return self._index_text(content, verdicts, memories, old)

    def _index_text(
        self,
        content: str,
        verdicts: Sequence[CandidateVerdict],
        memories: Sequence[Memory],
        old: StoredText | None,
        text: Text | None = None,
    ) -> tuple[int, bool]:
        places = [find_place(self.group, content, each.candidate.at) for each in verdicts]
        places += [find_place(self.group, content, memory.first_seen) for memory in memories]
        place = min((*places, *((old.place,) if old else ())))
        source = verdicts[0].candidate if verdicts else memories[0]
        body = old.body if old else to_canonical_json([content, list(source.artifacts), source.fingerprint])
        tokens = set(old.tokens.split()) if old else set()
        proposed = not all(map(takes_back, verdicts))
        if proposed or memories:
            tokens.update(self._words_tokens(text or text_of(body, place, proposed=proposed)))
        for each in verdicts:
            tokens.update(self._candidate_tokens(each))
        for memory in memories:
            tokens.update(self._memory_tokens(memory))
        stored = StoredText(place=place, body=body, tokens=" ".join(sorted(tokens)))
        if stored != old:
            moved = self.texts.items_at([old.place]) if old else ((), ())
            self.texts.put(stored, normal_form(content), old)
            self.texts.put_places(dict.fromkeys(moved[0], place), dict.fromkeys(moved[1], place))
        self.texts.put_places(
            dict.fromkeys([each.candidate.id for each in verdicts], place), dict.fromkeys([item.id for item in memories], place)
        )
        return place, old is None or old.place != place

    def token(self, *parts: object) -> str:
        """The token for a feature, which is given as parts. Other groups have other tokens for the same feature."""
        if parts not in self._tokens:
            self._tokens[parts] = "t" + digest(*self.group, *map(str, parts), size=4)
        return self._tokens[parts]

    def _words_tokens(self, text: Text) -> Iterator[str]:
        """Yield the tokens that follow from the words of a text."""
        says, saying = text.says, text.saying
        yield from (self.token("word", word) for word in beginnings_of(says))
        yield self.token("size", len(says.content))
        yield from (self.beside_token(what) for what in (says.artifacts, says.fingerprint) if what)
        if text.proposed and is_brief(says):
            yield self.meaning_token(says)
        yield from (self.token("key", key) for key in saying.filed_keys)
        yield from (self.token("opening", key) for key in saying.opening_keys)
        yield from (self.token("choice", name) for name in choices_of(saying))

    def beside_token(self, what: object) -> str:
        """The token for a feature other than words that two texts can share: a set of artifacts, or an error fingerprint."""
        return self.token("failure", what) if isinstance(what, str) else self.token("artifacts", *sorted(what))  # type: ignore[call-overload]

    def meaning_token(self, says: Statement) -> str:
        """The token that all wordings of one statement share. It is made from the result of :func:`meaning_of`."""
        numbers, names, denies = meaning_of(says)
        return self.token("meaning", *sorted(numbers), "", *sorted(names), "", denies)

    def _candidate_tokens(self, judged: CandidateVerdict) -> Iterator[str]:
        """Yield the tokens that follow from a candidate and not from its words."""
        candidate, rules = judged.candidate, self._rules
        if takes_back(judged):
            yield self.token(TAKEN)
            return
        kinds = {candidate.category, rules.promotions.get(candidate.category, candidate.category)}
        if is_wish(judged):
            yield self.token(WISH)
        if candidate.trigger == CAUSE:
            yield self.token(WHY)
        if candidate.subject and not kinds <= rules.gathered:
            yield self.token("subject", candidate.subject.casefold())
        yield from (self.token("told", candidate.content, item.session) for item in candidate.evidence)
        if candidate.replaces:
            yield self.token("replaces", candidate.replaces, candidate.evidence[0].session)
        if candidate.rewords:
            yield self.token("rewords", candidate.rewords)
        yield from self._kind_tokens(kinds)

    def _memory_tokens(self, memory: Memory) -> Iterator[str]:
        if is_agent_suggestion(memory):
            yield self.token(SUGGESTION)
        yield from self._kind_tokens({memory.category})

    def _kind_tokens(self, kinds: AbstractSet[str]) -> Iterator[str]:
        if kinds & self._rules.questions:
            yield self.token(QUESTION)
        if kinds & self._rules.themes:
            yield self.token(THEME)


def collect_decided_forms(memories: Iterable[Memory]) -> frozenset[str]:
    """The normal forms of the memories that a person owns or pinned."""
    return frozenset(normal_form(memory.content) for memory in memories if is_person_owned(memory) and memory.content)


def takes_back(judged: CandidateVerdict) -> bool:
    """True if a candidate is a withdrawal. A withdrawal cannot become a memory."""
    return judged.candidate.trigger == WITHDRAWAL


def text_of(body: str, place: int, *, proposed: bool) -> Text:
    """The text of which ``body`` is the indexed form. Raises DamagedError."""
    content, artifacts, fingerprint = _parse_body(body)
    return Text(content=content, place=place, says=parse_statement(content, artifacts, fingerprint), proposed=proposed)


def _parse_body(body: str) -> tuple[str, Sequence[str], str]:
    """The content, artifacts and error fingerprint in an indexed body. Raises DamagedError."""
    try:
        content, artifacts, fingerprint = json.loads(body)
    except ValueError as error:
        raise DamagedError("the index of curated texts is damaged", hint="`kept rebuild` makes it again") from error
    return content, artifacts, fingerprint
