"""What changed in a large group is curated alone, and ends as it does when the whole group is read."""

import random
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kept.core.digest import digest
from kept.core.errors import KeptError
from kept.core.event import Origin
from kept.core.memory import (
    SAID_ONCE,
    TAKES_BACK,
    UNSURE,
    WITHDRAWAL,
    Accepted,
    Actor,
    Candidate,
    CandidateVerdict,
    Evidence,
    Held,
    Refused,
    Status,
)
from kept.core.operation import Forget
from kept.curation import part, passes
from kept.curation.curate import clusters, texts
from kept.curation.passes import curate_changed_groups
from kept.memories import person
from kept.memories.history import undo
from kept.store.values import Draft, Span
from kept.workspace import RunNumber
from store_world import archive, event

DAWN = datetime(2026, 1, 1, tzinfo=UTC)
ACCEPTED = Accepted()
NAMES = ("orders", "invoices", "exports", "reports")
SENTENCES = (
    *(f"The {name} service listens on port {port}." for name in NAMES for port in (8000, 8443)),
    *(f"The {name} service now listens on port 9{number}00." for number, name in enumerate(NAMES)),
    *(f"We use Postgres for the {name} table." for name in NAMES),
    *(f"We no longer use Postgres for the {name} table." for name in NAMES[:2]),
    *(f"We use MySQL for the {name} table." for name in NAMES[:2]),
    *(f"Never commit to main without running the tests of {name}." for name in NAMES),
    *(f"Always run the tests of {name} before you commit to main." for name in NAMES[:2]),
    "Keep answers short.",
    "Keep answers short, because I read them on a phone.",
    "Answers should be short and without emojis.",
    "I live in Bergen and work as a translator.",
    "I moved to Oslo, I no longer live in Bergen.",
    "I live in Lisbon now.",
    "We first sent the weekly report of all open orders by hand.",
    "The weekly report of all open orders is sent by a job.",
    "Use bun instead of npm for every script.",
    "Use npm instead of bun for every script.",
    "How should the orders table be split between the two databases?",
    "The orders table is split between the two databases by year.",
)


def told(
    text,
    day,
    verdict=ACCEPTED,
    *,
    category="constraint",
    subject="",
    replaces="",
    trigger="correction",
    origin=Origin.USER,
    doubt="",
):
    at, session = DAWN + timedelta(days=day), f"s{day}"
    quote = Evidence(quote=text, event=f"e-{session}-{text}", session=session, path="f", at=at, author="human", origin=origin)
    return CandidateVerdict(
        candidate=Candidate(
            id=f"{session}-{category}-{text}",
            profile="coding",
            category=category,
            scope="user",
            content=text,
            confidence=0.8,
            trigger=trigger,
            at=at,
            origin=origin,
            artifacts=(),
            evidence=(quote,),
            reasoning="said",
            subject=subject,
            replaces=replaces,
            doubt=doubt,
        ),
        verdict=verdict,
    )


def taken_back(text, day, names):
    return told(text, day, category="constraint", trigger=WITHDRAWAL, replaces=names, doubt=TAKES_BACK)


candidates = st.one_of(
    st.builds(
        told,
        st.sampled_from(SENTENCES),
        st.integers(0, 40),
        st.sampled_from((Accepted(), Accepted(), Held(reason="unsure"), Held(reason=UNSURE), Refused(reason=SAID_ONCE))),
        category=st.sampled_from(("constraint", "decision", "open_question", "preference")),
        origin=st.sampled_from((Origin.USER, Origin.USER, Origin.ASSISTANT)),
    ),
    st.builds(
        lambda day, place: told(f"My machine is {place}.", day, category="decision", subject="machine"),
        st.integers(0, 40),
        st.sampled_from(("a Mac", "a ThinkPad", "a Framework")),
    ),
    st.builds(
        lambda day, name: taken_back(f"Forget what I said of {name}.", day, f"the {name} service listens"),
        st.integers(20, 40),
        st.sampled_from(NAMES),
    ),
)
facts = st.lists(candidates, min_size=1, max_size=24, unique_by=lambda each: each.candidate.id)


class Desk:
    """A store to which facts come in several sessions, curated after each."""

    def __init__(self, workspace, monkeypatch, *, large, share=1):
        self.workspace = replace(workspace, clock=lambda: DAWN + timedelta(days=90))
        self.monkeypatch, self.large, self.share = monkeypatch, large, share
        self.number, self.meaning, self.allow, self.stopped = 0, None, True, []
        self.run = RunNumber(self.workspace)

    def hear(self, judged, thread=None):
        """A session tells facts; the same session again tells others in their place."""
        if thread is None:
            self.number += 1
            archive(self.workspace.store, event(f"e{self.number}", session=f"t{self.number}"), path=f"f{self.number}")
            thread = self.number
        span = Span(thread=thread, start=0, judged=tuple((0, each) for each in judged))
        self.workspace.store.log.commit(
            Draft(run=self.run(), stage="extract", subject="s", actor=Actor.MACHINE, recorded_at=DAWN, span=span)
        )
        self.curate()

    def curate(self):
        with self.monkeypatch.context() as patched:
            patched.setattr(part, "LARGE", self.large)
            patched.setattr(part, "SHARE", self.share)
            made = curate_changed_groups(self.workspace, self.run, allow=self.allow, meaning=self.meaning)
            self.stopped += made.stopped

    @property
    def memories(self):
        return self.workspace.store.log.memories()


@pytest.fixture
def both(desk_at, tmp_path, monkeypatch):
    """Opens two desks: one that curates in parts, and one that always reads the whole group."""
    made = []

    def opened():
        number = len(made)
        desks = [desk_at(tmp_path / f"{number}-{place}") for place in range(2)]
        made.append(desks)
        parts, whole = (each.__enter__() for each in desks)
        return Desk(parts, monkeypatch, large=0), Desk(whole, monkeypatch, large=10**9)

    yield opened
    for desks in made:
        for each in desks:
            each.__exit__(None, None, None)


@pytest.fixture
def wholes(monkeypatch):
    """How often a whole group was read."""
    counted = []
    monkeypatch.setattr(passes, "read_group", lambda *args: (counted.append(1), part.read_group(*args))[1])
    return counted


def narrow(monkeypatch, nearest, crowd):
    """Have fewer texts compared of those that share a word."""
    for module in (texts, part):
        monkeypatch.setattr(module, "COMPARED", nearest)
    for module in (texts, clusters, part):
        monkeypatch.setattr(module, "CROWD", crowd)


def nearness(pairs):
    return [0.4 + 0.6 * int(digest(*sorted(pair), size=2), 16) / 2**16 for pair in pairs]


@pytest.mark.parametrize("narrowed", [(20, 60, None), (2, 3, None), (2, 3, nearness)])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts, st.randoms(use_true_random=False))
def test_facts_that_come_in_any_order_and_portions_are_curated_as_if_all_were_read(both, monkeypatch, narrowed, judged, chance):
    narrow(monkeypatch, *narrowed[:2])
    parts, whole = both()
    parts.meaning = whole.meaning = narrowed[2]
    chance.shuffle(judged)
    while judged:
        cut = chance.randint(1, len(judged))
        now, judged = judged[:cut], judged[cut:]
        parts.hear(now)
        whole.hear(now)
        assert parts.memories == whole.memories


def test_an_older_session_read_later_can_turn_round_which_of_two_past_values_came_first(both):
    def machine(name, day):
        return told(f"My machine is {name}.", day, category="decision", subject="machine")

    for desk in both():
        desk.hear([machine("a ThinkPad", 1), machine("a Framework", 1), machine("a Mac", 2)])
        desk.hear([machine("a ThinkPad", 0)])
        names = {each.id: each.content for each in desk.memories}
        assert {each.content: names.get(each.superseded_by) for each in desk.memories} == {
            "My machine is a ThinkPad.": "My machine is a Framework.",
            "My machine is a Framework.": "My machine is a Mac.",
            "My machine is a Mac.": None,
        }


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_what_a_person_changes_in_between_and_what_is_said_no_more_is_curated_as_if_all_were_read(both, monkeypatch, seed):
    narrow(monkeypatch, *random.Random(seed).choice(((20, 60), (2, 3))))
    desks, chance = both(), random.Random(seed)
    changes = {
        "edit": lambda desk, memory, text: person.edit(desk.workspace, memory.id, text),
        "retire": lambda desk, memory, _: person.retire(desk.workspace, memory.id),
        "reject": lambda desk, memory, _: person.reject(desk.workspace, memory.id),
        "pin": lambda desk, memory, _: person.pin(desk.workspace, memory.id),
        "undo": lambda desk, *_: undo(desk.workspace),
    }
    for _ in range(8):
        said = [told(chance.choice(SENTENCES), chance.randint(0, 40)) for _ in range(chance.randint(1, 5))]
        judged = [*{each.candidate.id: each for each in said}.values()]
        thread = chance.choice((None, None, *range(1, desks[0].number + 1)))
        change, text = changes[chance.choice([*changes])], chance.choice(SENTENCES)
        for desk in desks:
            desk.hear(judged, thread)
        memories = [memory for memory in desks[0].memories if memory.content]
        memory = chance.choice(memories) if memories else None
        for desk in desks:
            with suppress(KeptError):
                change(desk, memory, text)
        assert desks[0].memories == desks[1].memories


# Facts that have to do with each other, of which the last one comes alone.
LINKS = {
    "the same words": [told("Keep answers short.", 1), told("Keep **answers** short!", 2)],
    "nearly the same": [
        told("Use bun instead of npm for every script in the web folder.", 1),
        told("Use bun instead of npm for every single script in the web folder.", 2),
    ],
    "with its reason": [told("Keep answers short.", 1), told("Keep answers short, because I read them on a phone.", 2)],
    "without its reason": [told("Keep answers short, because I read them on a phone.", 1), told("Keep answers short.", 2)],
    "another value": [told("The orders service listens on port 8000.", 1), told("The orders service listens on port 8443.", 2)],
    "a decision that ends another": [
        told("We decided to set the flyer with LaTeX.", 1, category="decision"),
        told("The plan with LaTeX is dropped, Typst it is.", 2, category="decision"),
    ],
    "an earlier value, told later": [
        told("The orders service now listens on port 8443.", 9),
        told("The orders service listens on port 8000.", 2),
    ],
    "a wish said a third time": [
        told(f"Please {word} the answers to my questions short and plain.", day, Refused(reason=SAID_ONCE))
        for day, word in enumerate(("keep", "keep", "leave"))
    ],
    "a wish said a third time in other words": [
        told(text, day, Refused(reason=SAID_ONCE))
        for day, text in enumerate(
            (
                "Keep the flyer's prices in dollars.",
                "Dollar prices on the flyer, never euros.",
                "A flyer has its prices in dollars.",
            )
        )
    ],
    "a newer value of one subject": [
        told("It is a Mac.", 1, category="decision", subject="machine"),
        told("She bought a ThinkPad.", 2, category="decision", subject="Machine"),
    ],
    "an answer": [
        told("How should the orders table be split between the two databases?", 1, category="open_question"),
        told("The orders table is split between the two databases by year.", 2, category="decision"),
    ],
    "a question that was answered already": [
        told("The orders table is split between the two databases by year.", 2, category="decision"),
        told("How should the orders table be split between the two databases?", 1, category="open_question"),
    ],
    "a withdrawal": [told("I am allergic to peanuts.", 1), taken_back("Forget my allergy to peanuts.", 2, "allergy peanuts")],
    "what was taken back already": [
        taken_back("Forget my allergy to peanuts.", 9, "allergy peanuts"),
        told("I am allergic to peanuts.", 1),
    ],
    "a suggestion that takes the place of another": [
        told("Deploy on Friday.", 1, category="decision"),
        told("Ship with the nightly job.", 1, category="decision", replaces="Deploy on Friday."),
    ],
}


@pytest.mark.parametrize("link", LINKS)
def test_a_new_fact_finds_what_it_has_to_do_with(both, wholes, link):
    *before, last = LINKS[link]
    unrelated = [told(f"The {name} page shows a map of harbor {number}.", number) for number, name in enumerate(NAMES)]
    desks = both()
    for desk in desks:
        desk.hear([*unrelated, *before])
    alone = len(wholes)
    desks[0].hear([last])
    assert len(wholes) == alone
    desks[1].hear([last])
    assert desks[0].memories == desks[1].memories
    standing = [memory for memory in desks[0].memories if memory.status is Status.ACTIVE]
    assert len(standing) < len(unrelated) + len(LINKS[link]) - (last.candidate.trigger == WITHDRAWAL) or link.startswith("a wish")


def test_a_fact_that_has_to_do_with_nothing_reads_no_other(both, wholes, monkeypatch):
    desk, _ = both()
    desk.hear([told(f"The {name} page shows a map of harbor {number}.", number) for number, name in enumerate(NAMES * 5)])
    read = []
    plain = type(desk.workspace.store.log).proposals_with
    monkeypatch.setattr(type(desk.workspace.store.log), "proposals_with", lambda *args: (read.extend(args[3]), plain(*args))[1])
    before = len(wholes)
    last = told("Ana plays the cello.", 50)
    desk.hear([last])
    assert (len(wholes), set(read)) == (before, {last.candidate.id})


def test_a_group_is_read_whole_again_after_a_table_of_words_changed(both, wholes, tmp_path, monkeypatch):
    table = tmp_path / "core" / "words.toml"
    table.parent.mkdir()
    monkeypatch.setattr(passes, "_PACKAGE", tmp_path)
    monkeypatch.setattr(passes, "_program_version", passes._program_version.__wrapped__)
    desk, _ = both()
    reads = []
    for number, words in enumerate(("light/dark", "light/dark", "light/dark on/off", "light/dark on/off")):
        table.write_text(f'[en]\nopposed = "{words}"\n')
        desk.hear([told(f"The {name} page shows a map of harbor {number}.", number) for name in NAMES])
        reads.append(len(wholes))
    assert reads == [1, 1, 2, 2]


def test_a_guard_counts_the_whole_category_where_a_part_is_curated(both):
    desks = both()
    for desk in desks:
        desk.allow = False
        desk.hear([told(f"The {name} service listens on port 8{number}00.", number) for number, name in enumerate(NAMES * 2)])
        desk.hear([told(f"The {name} service now listens on port 9{number}00.", 20 + number) for number, name in enumerate(NAMES)])
    assert desks[0].memories == desks[1].memories
    for desk in desks:
        desk.hear([], 1)
    assert desks[0].memories == desks[1].memories
    assert desks[0].stopped == desks[1].stopped != []


def test_what_is_erased_is_in_no_text_that_is_filed(both):
    desk, _ = both()
    desk.hear([told("Ana plays the cello.", 1), told("Keep answers short.", 2)])
    log = desk.workspace.store.log
    assert len(log.texts("coding", "user").every()) == 2
    (cello,) = (memory for memory in desk.memories if "cello" in memory.content)
    made = log.commit(
        Draft(
            run=desk.run(),
            stage="forget",
            subject="",
            actor=Actor.PERSON,
            recorded_at=DAWN,
            operations=(Forget(memory=cello.id, at=DAWN, reason="asked", fingerprints=(), candidates=cello.candidates),),
        )
    )
    log.erase_memory(cello.id, cello.candidates, [], made)
    assert log.texts("coding", "user").every() == []
    desk.curate()
    assert "cello" not in " ".join(memory.content for memory in desk.memories)
