"""What a model says should become of memories: only what its numbers, its words and the memories themselves carry."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept import profiles
from kept.core.artifact import find_artifacts
from kept.core.event import Origin
from kept.core.memory import REMEMBER, Actor, Evidence, Memory, Status
from kept.core.operation import ADVISED, Merge, Resolve, Retire, Supersede, apply_operation
from kept.curation.advice import (
    SAID_CHARS,
    SCHEMA,
    MemoryTable,
    SaidPrompt,
    build_curation_ask,
    build_project_tables,
    build_tables,
    fill_curation_prompt,
    read_curation_reply,
    select_applicable,
)
from kept.curation.guard import find_overreach
from kept.profiles.profile import Category
from kept.profiles.prompts import question_text

AT = datetime(2026, 1, 5, tzinfo=UTC)
CATEGORY = Category(id="preferences", title="Preferences", belongs="What the user likes.", excludes="A wish of the moment.")


def memory(number, content, *, days=0, **changes):
    at = AT + timedelta(days=days)
    made = Memory(
        id=number,
        profile="companion",
        category="preferences",
        scope="user",
        status=Status.ACTIVE,
        content=content,
        confidence=0.8,
        origin=Origin.ASSISTANT,
        first_seen=at,
        last_seen=at,
        artifacts=find_artifacts(content),
        candidates=(f"c-{number}",),
    )
    return replace(made, **changes)


SHORT = memory("a", "Keep reviews of pull requests short.")
NAMES = memory("b", "Name the file in reviews of pull requests.", days=1)
BRIEF = memory("b", "Pull requests get brief reviews.", days=1)


def change(number, op, into=0, reason="because"):
    return {"id": number, "op": op, "with": into, "reason": reason}


def said(*changes, of=(SHORT, NAMES), named=()):
    return read_curation_reply({"operations": list(changes)}, MemoryTable(category=CATEGORY, entries=of, named=named))


def test_what_says_the_same_in_other_words_becomes_evidence_of_the_sentence_that_stays():
    made = said(change(2, "merge", 1), of=(SHORT, BRIEF))
    (merge,) = made.operations
    assert isinstance(merge, Merge)
    assert (merge.memory, merge.losers, merge.facts.content) == ("a", ("b",), SHORT.content)
    assert merge.facts.candidates == ("c-a", "c-b")
    assert (merge.facts.first_seen, merge.facts.last_seen) == (SHORT.first_seen, BRIEF.last_seen)
    assert merge.reason.startswith(ADVISED)
    after = {"a": SHORT, "b": BRIEF}
    after |= apply_operation(after, merge, Actor.MACHINE)
    assert (after["b"].status, after["b"].superseded_by) == (Status.SUPERSEDED, "a")


@pytest.mark.parametrize(
    "content",
    [
        "Use PostgreSQL for every new service.",  # another matter
        "Keep reviews of pull requests below 3 lines.",  # a number that would be lost
        "Keep reviews of pull requests short with `rg`.",  # a name that would be lost
        "Do not keep reviews of pull requests short.",  # the reverse
    ],
)
def test_a_sentence_takes_in_none_that_it_does_not_say(content):
    made = said(change(2, "merge", 1), of=(SHORT, memory("b", content, days=1)))
    assert (made.operations, dict(made.refused)) == ((), {"they do not say the same": 1})


def test_a_wording_of_the_models_own_is_never_taken():
    (merge,) = said({**change(2, "merge", 1), "content": "Reviews: short, files named."}).operations
    assert merge.facts.content == SHORT.content


def test_at_most_one_change_to_a_number_else_none():
    made = said(change(2, "merge", 1), change(2, "retire"))
    assert (made.operations, dict(made.refused)) == ((), {"more than one change to a memory": 2})


@each_case("op", ["delete", "deactivate", "REPLACE", "", "promote", "forget", "pin", "add", "reword"])
def test_only_the_four_kinds_are_known(op):
    made = said(change(1, op, 2))
    assert (made.operations, dict(made.refused)) == ((), {"no change of a known kind": 1})


def test_a_number_that_was_not_given_is_refused():
    made = said(change(0, "retire"), change(3, "retire"), change(-1, "retire"), change(1, "merge", 9), change(2, "merge", 2))
    assert made.operations == ()
    assert dict(made.refused) == {"a number that is not there": 5}


@each_case("marks", [{"owned": True}, {"pinned": True}])
@each_case("op", ["merge", "supersede", "resolve", "retire"])
def test_nothing_is_done_to_what_a_person_owns_or_pinned(marks, op):
    theirs = replace(SHORT, **marks)
    assert said(change(1, op, 2), of=(theirs, NAMES)).operations == ()
    assert said(change(2, "merge", 1), of=(theirs, NAMES)).operations == ()


def test_only_something_later_about_the_same_thing_takes_a_place():
    old, new = (
        memory("a", "The team meets on Mondays in the harbour office."),
        memory("b", "The team meets on Tuesdays now.", days=9),
    )
    (made,) = said(change(1, "supersede", 2), of=(old, new)).operations
    assert isinstance(made, Supersede)
    assert (made.memory, made.by, made.at) == ("a", "b", new.first_seen)
    assert dict(said(change(2, "supersede", 1), of=(old, new)).refused) == {"what supersedes it is older": 1}
    other = memory("c", "Lunch is at noon.", days=9)
    assert dict(said(change(1, "supersede", 2), of=(old, other)).refused) == {"they are about different things": 1}


def test_a_memory_of_another_category_may_be_superseded_and_nothing_else():
    new = memory("b", "The team meets on Tuesdays now.", days=9)
    old = memory("a", "The team meets on Mondays.", category="insights")
    (made,) = said(change(2, "supersede", 1), of=(new,), named=(old,)).operations
    assert (made.memory, made.by) == ("a", "b")
    for op in ("retire", "resolve", "merge", "both"):
        assert said(change(2, op, 1), of=(new,), named=(old,)).operations == ()


def test_what_somebody_typed_gives_way_to_typed_words_alone():
    old, new = memory("a", "The team meets on Mondays."), memory("b", "The team meets on Tuesdays now.", days=9)
    typed = replace(old, origin=Origin.USER)
    assert dict(said(change(1, "supersede", 2), of=(typed, new)).refused) == {"what supersedes it is trusted less": 1}
    assert said(change(1, "supersede", 2), of=(typed, replace(new, origin=Origin.USER))).operations
    assert said(change(1, "supersede", 2), of=(old, replace(new, origin=Origin.TOOL))).operations


def test_a_question_is_resolved_by_a_later_answer_that_may_only_be_named():
    asked = memory("q", "Does discovery in `registry.go` hold with four workflows?", category="open_questions")
    answer = memory("d", "Discovery in `registry.go` holds with four workflows since it locks.", days=3, category="insights")
    (made,) = said(change(1, "resolve", 2), of=(asked,), named=(answer,)).operations
    assert isinstance(made, Resolve)
    assert (made.memory, made.by) == ("q", "d")
    assert dict(said(change(2, "retire"), of=(asked,), named=(answer,)).refused) == {"of another category": 1}


def test_a_model_may_retire_what_rests_on_typed_words_that_nobody_approved():
    typed = replace(SHORT, origin=Origin.USER)
    (made,) = said(change(1, "retire", reason="a step of the moment"), of=(typed, NAMES)).operations
    assert isinstance(made, Retire)
    approved = replace(typed, owned=True)
    assert dict(said(change(1, "retire"), of=(approved, NAMES)).refused) == {"the person's own": 1}


def test_nothing_gives_way_to_what_ends_itself():
    made = said(change(1, "merge", 2), change(2, "retire"))
    assert [type(each) for each in made.operations] == [Retire]


@each_case("body", [{}, {"operations": "none"}, {"operations": [3]}, {"operations": [{"number": 1}]}, {"ops": []}])
def test_a_reply_of_another_form_is_told(body):
    with pytest.raises(ValueError, match="reply"):
        read_curation_reply(body, MemoryTable(category=CATEGORY, entries=(SHORT, NAMES)))


OPS = st.sampled_from(["merge", "supersede", "resolve", "retire", "wipe"])
CHANGES = st.builds(change, st.integers(-1, 8), OPS, st.integers(0, 8))
MANY = tuple(
    memory(f"m{n}", f"Keep {what} of pull requests {how}.", days=n, owned=n == 2, pinned=n == 5)
    for n, (what, how) in enumerate(product(("reviews", "titles", "lists"), ("short", "plain")))
)


@given(st.lists(CHANGES, max_size=12))
def test_whatever_a_model_says_a_persons_own_stays_and_no_memory_is_changed_twice(changes):
    found = select_applicable(said(*changes, of=MANY).operations, MANY)
    touched = [number for each in found for number in (each.memory, *getattr(each, "losers", ()))]
    assert len(touched) == len(set(touched))
    after = {each.id: each for each in MANY}
    for each in found:
        after.update(apply_operation(after, each, Actor.MACHINE))
    assert all(
        after[each.id].content == each.content and after[each.id].status is each.status
        for each in MANY
        if each.owned or each.pinned
    )
    for each in after.values():
        if each.superseded_by:
            assert after[each.superseded_by].status is Status.ACTIVE


def test_a_pass_that_retires_most_of_a_category_is_the_guards_to_stop():
    every = [change(n, "retire") for n in range(1, 7)]
    assert find_overreach(MANY, said(*every, of=MANY).operations)


def test_new_entries_are_shown_with_what_is_related_and_nothing_else():
    far = memory("z", "The dentist is at Praça Velha.")
    (table,) = build_tables(CATEGORY, [SHORT, NAMES, far], frozenset({"b"}))
    assert [each.id for each in table.entries] == ["a", "b"]
    assert list(build_tables(CATEGORY, [SHORT, NAMES, far], frozenset())) == []


def test_what_a_part_of_a_name_has_in_common_is_related():
    first = memory("a", "The cli shall include ai-provenance-lib without opening its sources to builds of strangers and forks.")
    later = memory(
        "b", "Provenance code ended up inside of the cli, as pkg/provenance, behind a hidden flag of run and watch.", days=9
    )
    (table,) = build_tables(CATEGORY, [first, later], frozenset("ab"))
    assert table.entries == (first, later)
    assert said(change(1, "supersede", 2), of=(first, later)).operations


def test_each_new_entry_is_shown_with_what_is_nearest_to_it_however_much_is_near_to_another():
    crowd = [memory(f"c{n}", f"The harbour ledger of guests is kept in ink by clerk {n}.", days=n) for n in range(60)]
    red = memory("red", "All boats at the mole were painted red in spring.")
    new = [
        memory("ledger", "The harbour ledger of guests is kept in ink.", days=90),
        memory("blue", "Blue paint is what boats get.", days=90),
    ]
    (table,) = build_tables(CATEGORY, [*crowd, red, *new], frozenset(("ledger", "blue")))
    assert red in table.entries


def test_a_question_is_asked_about_again_when_something_that_may_answer_it_was_learnt():
    asked = memory("q", "Does discovery in `registry.go` hold with four workflows?", category="open_questions")
    answer = memory("d", "Discovery in `registry.go` holds since it locks.", days=3, category="insights")
    questions = replace(CATEGORY, id="open_questions")
    (table,) = build_tables(questions, [asked, answer], frozenset({"d"}))
    assert ([each.id for each in table.entries], [each.id for each in table.named]) == (["q"], ["d"])


LINKS = memory("links", "Sign in by links in mails only.", category="constraints")
CODES = memory("codes", "People get their sign-in code as a text message.", days=9, category="decisions")


def supersede_in_project(*known, number=1, into=2):
    (table,) = build_project_tables(known, frozenset({known[-1].id}))
    return read_curation_reply({"operations": [change(number, "supersede", into)]}, table)


def test_what_a_later_memory_of_the_project_makes_untrue_ends_whatever_its_category_and_words():
    (ended,) = supersede_in_project(LINKS, CODES).operations
    assert isinstance(ended, Supersede)
    assert (ended.memory, ended.by) == ("links", "codes")
    assert supersede_in_project(LINKS, CODES, number=2, into=1).refused == {"what supersedes it is older": 1}
    assert supersede_in_project(replace(LINKS, owned=True), CODES).refused == {"the person's own": 1}


def test_what_the_user_said_and_is_held_may_end_a_memory_but_is_not_changed_itself():
    held = replace(CODES, status=Status.HELD, reason="for the task at hand", origin=Origin.USER)
    (table,) = build_project_tables((LINKS, held), frozenset({"links"}))
    (ended,) = read_curation_reply({"operations": [change(1, "supersede", 2)]}, table).operations
    assert isinstance(ended, Retire)
    assert ended.memory == "links"
    assert read_curation_reply({"operations": [change(2, "supersede", 1)]}, table).refused == {"it is held": 1}
    assert not list(build_project_tables((LINKS, held), frozenset({"codes"})))
    (table,) = build_project_tables((replace(LINKS, trigger=REMEMBER), held), frozenset({"links"}))
    found = read_curation_reply({"operations": [change(1, "supersede", 2)]}, table)
    assert found.refused == {"what supersedes it is trusted less": 1}


def say_later(text, *, days=9, reply="", event="e1"):
    return SaidPrompt(text=text, reply=reply, event=event, session="0123456789", at=AT + timedelta(days=days))


def end_by_prompt(known, prompt, *, op="supersede"):
    (table,) = build_project_tables([known], frozenset(), [prompt])
    return read_curation_reply({"operations": [change(1, op, 2)]}, table)


def test_a_prompt_may_only_supersede_a_memory_that_is_older_and_was_not_told():
    prompt = say_later("codes then", reply="Shall people get links or codes?")
    (ended,) = end_by_prompt(LINKS, prompt).operations
    assert ended == Retire(memory="links", at=prompt.at, reason=f"{ADVISED}because (you on 2026-01-14, in session 01234567)")
    assert end_by_prompt(LINKS, prompt, op="retire").refused == {"of another category": 1}
    assert end_by_prompt(replace(LINKS, owned=False, trigger=REMEMBER), prompt).refused == {"what supersedes it is trusted less": 1}
    (table,) = build_project_tables([LINKS, CODES], frozenset(), [say_later("codes", days=4)])
    assert read_curation_reply({"operations": [change(2, "supersede", 3)]}, table).refused == {"what supersedes it is older": 1}


def test_a_new_sentence_counts_only_for_what_was_typed_later_than_a_memory_of_kept():
    def state(known, other, **more):
        (table,) = build_project_tables([known, NAMES], frozenset(), [other])
        return read_curation_reply({"operations": [change(1, "supersede", 3) | {"now": " codes  then "} | more]}, table).sentences

    prompt = say_later("codes then")
    (sentence,) = state(LINKS, prompt)
    assert (sentence.memory, sentence.prompt, sentence.text) == (LINKS, prompt, "codes then")
    assert state(replace(LINKS, trigger=REMEMBER), prompt)
    early = say_later("codes then", days=2)
    for known, other, more in (
        (replace(LINKS, owned=True), prompt, {}),
        (LINKS, prompt, {"with": 2}),
        (LINKS, prompt, {"now": " "}),
        (replace(LINKS, last_seen=early.at + timedelta(days=1), trigger=REMEMBER), early, {}),
    ):
        assert state(known, other, **more) == ()


def test_prompts_that_come_before_all_memories_or_are_quoted_are_left_out_and_many_are_asked_about_in_parts():
    quoted = replace(LINKS, evidence=(Evidence(quote="x", event="q", session="s", path="", at=AT, author="h", origin=Origin.USER),))
    assert not list(build_project_tables([quoted], frozenset(), [say_later("a", days=-1), say_later("b", event="q")]))
    several = [say_later(f"{n} " * 200, event=f"e{n}") for n in range(100)]
    tables = list(build_project_tables([LINKS, CODES], frozenset({"codes"}), several))
    assert [prompt for table in tables for prompt in table.said] == several
    assert all(sum(len(prompt.format_line()) for prompt in table.said) <= SAID_CHARS for table in tables)
    assert all({each.id for each in table.named} == {"links", "codes"} for table in tables)


def test_a_small_project_is_asked_about_at_once_and_a_large_one_in_parts_that_miss_no_new_memory():
    several = [memory(f"m{n:03}", f"The {n} harbour likes boats of kind {n}.", days=n) for n in range(100)]
    for count, tables in ((60, 1), (100, 4)):
        found = list(build_project_tables(several[:count], frozenset(each.id for each in several)))
        assert len(found) == tables
        assert {each.id for table in found for each in table.named} == {each.id for each in several[:count]}
        assert all(len(table.named) <= 60 for table in found)


def test_many_new_entries_are_asked_about_in_parts_and_none_is_left_out():
    several = [memory(f"m{n:03}", f"The {n} harbour likes boats of kind {n}.", days=n) for n in range(90)]
    found = list(build_tables(CATEGORY, several, frozenset(each.id for each in several)))
    assert {each.id for table in found for each in table.entries} == {each.id for each in several}
    assert all(len(table.entries) + len(table.named) <= 40 for table in found)


def test_each_category_of_each_profile_has_a_prompt_of_its_own_and_the_stack_is_the_users():
    text, _ = question_text("curation")
    made = {
        (each.id, one.id): fill_curation_prompt(text, one)
        for name in profiles.list_built_in_profiles()
        for each in [profiles.load_profile(name)]
        for one in each.categories
    }
    assert len(set(made.values())) == len(made)
    assert not any("{{" in each for each in made.values())
    assert "make a dossier" in made["companion", "people"]
    assert "Each entry says one thing" in made["companion", "preferences"]
    assert "The assistant's own tools" in made["companion", "technical"]


def test_a_question_names_entries_by_short_numbers_and_says_what_may_not_be_touched():
    table = MemoryTable(category=CATEGORY, entries=(SHORT, replace(NAMES, owned=True)), fresh=frozenset({"a"}))
    ask = build_curation_ask(table, system="s", version="v")
    assert ask.prompt.splitlines() == [f"1 (2026-01-05, new): {SHORT.content}", f"2 (2026-01-06, theirs): {NAMES.content}"]
    assert ask.schema is SCHEMA
    assert set(SCHEMA["properties"]["operations"]["items"]["required"]) == {"id", "op", "with", "reason"}
    ask = build_curation_ask(MemoryTable(category=None, entries=(), named=(SHORT, NAMES)), system="s", version="v")
    assert set(ask.schema["properties"]["operations"]["items"]["required"]) == {"id", "op", "with", "reason", "now"}
