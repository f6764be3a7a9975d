"""Which memories the file shows, and in which order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.document import Layout
from kept.core.event import Origin
from kept.core.markup import encode_lines
from kept.core.memory import APPROVED, REMEMBER, USER_SCOPE, Memory, Status
from kept.outputs.compose.sheet import HARD_CAP, compose_sheet, relevance_score
from kept.outputs.render import render_file
from kept.profiles.profile import Category, Outputs, Profile

START = datetime(2026, 2, 1, tzinfo=UTC)
WEB, APP = "project:web-aaaaaa", "project:app-bbbbbb"
NAMES = {WEB: "web", APP: "app"}
PROFILE = Profile(
    id="p",
    title="P",
    summary="",
    categories=(
        Category(id="rule", title="Rules", belongs="", excludes="", weight=1.4),
        Category(id="fix", title="Fixes", belongs="", excludes="", half_life=30),
    ),
)


def memory(number, *, category="rule", scope=USER_SCOPE, day=0, content="", **more):
    moment = START + timedelta(days=day)
    given = {
        "id": number,
        "profile": "p",
        "category": category,
        "scope": scope,
        "status": Status.ACTIVE,
        "confidence": 0.8,
        "content": content or f"Rule {number} holds.",
        "origin": Origin.USER,
        "first_seen": moment,
        "last_seen": moment,
    }
    return Memory(**(given | more))


def shown(memories, *, profile=PROFILE, as_of=START, names=NAMES, **more):
    return compose_sheet(memories, (profile,), as_of=as_of, names=names, zone=ZoneInfo("Europe/Berlin"), **more)


def ids(document):
    return [fact.id for section in document.sections for fact in section.facts]


def size(document):
    return len(encode_lines(render_file(document), Layout()))


def limited(**outputs):
    return replace(PROFILE, outputs=Outputs(**outputs))


def test_the_users_own_comes_first_then_the_project_seen_last_then_categories_as_the_profile_lists_them():
    document = shown(
        [
            memory("a", scope=WEB, day=1),
            memory("b", scope=APP, day=5),
            memory("c", category="fix"),
            memory("d"),
            memory("e", scope=APP, category="fix"),
        ]
    )
    assert [(each.name, each.title) for each in document.sections] == [
        ("Everywhere", "Rules"),
        ("Everywhere", "Fixes"),
        ("app", "Rules"),
        ("app", "Fixes"),
        ("web", "Rules"),
    ]
    assert ids(document) == ["d", "c", "b", "e", "a"]


def test_only_active_memories_of_the_profile_are_shown():
    hidden = [memory(each.value, status=each) for each in Status if each is not Status.ACTIVE]
    assert ids(shown([*hidden, memory("a"), memory("b", profile="other"), memory("c", content="\u200b")])) == ["a"]


def test_an_expired_memory_leaves_the_file_when_its_day_comes():
    due = memory("a", valid_until=START + timedelta(days=3))
    assert ids(shown([due], as_of=START + timedelta(days=2))) == ["a"]
    assert ids(shown([due], as_of=START + timedelta(days=3))) == []


def test_a_later_moment_with_nothing_new_changes_nothing():
    memories = [memory(f"{n}", category="fix" if n % 2 else "rule", day=n) for n in range(40)]
    profile = limited(memory_lines=20)
    assert shown(memories, profile=profile) == shown(memories, profile=profile, as_of=START + timedelta(days=900))


def test_a_fact_carries_the_day_it_was_last_seen_in_the_users_zone():
    late = datetime(2026, 2, 12, 23, 30, tzinfo=UTC)
    assert shown([memory("a", last_seen=late)]).sections[0].facts[0].day.isoformat() == "2026-02-13"


def test_relevance_grows_with_weight_confidence_and_observations_and_halves_with_the_half_life():
    newest = START + timedelta(days=30)
    fix = memory("a", category="fix")
    assert relevance_score(fix, PROFILE, START) == 2 * relevance_score(fix, PROFILE, newest) == 0.8
    assert relevance_score(replace(fix, observations=3), PROFILE, START) == 1.6
    assert relevance_score(memory("b"), PROFILE, newest) == 1.12
    assert relevance_score(replace(fix, last_seen=None), PROFILE, START) == 0.4
    assert relevance_score(replace(fix, reason=APPROVED), PROFILE, newest) == 1.0


def test_what_a_person_told_or_let_in_has_its_line_before_what_was_inferred():
    inferred = [memory(f"{n}", confidence=0.95, day=n) for n in range(9)]
    told, let_in = memory("told", category="fix", trigger=REMEMBER), memory("kept", confidence=0.5, reason=APPROVED)
    assert set(ids(shown([*inferred, told, let_in], profile=limited(memory_lines=3)))) == {"told", "kept", "8"}


def test_over_budget_the_least_relevant_are_left_out_and_pinned_ones_stay():
    memories = [memory(f"{n:02}", confidence=0.5 + n / 100) for n in range(30)] + [memory("pin", confidence=0.1, pinned=True)]
    kept = ids(shown(memories, profile=limited(memory_lines=5)))
    assert set(kept) == {"29", "28", "27", "26", "pin"}


@each_case("category", ["rule", "fix"])
@each_case("budget", ["lines", "bytes", "category"])
def test_what_leaves_a_full_file_leaves_by_relevance_then_by_age_in_every_category(category, budget):
    doubted = [memory("z0", category=category, confidence=0.3, day=9), memory("y1", category=category, confidence=0.4, day=9)]
    old = [memory(name, category=category, day=day) for name, day in (("a2", 1), ("b3", 2), ("c4", 5), ("d5", 8))]
    everything = [*old, *doubted]
    left = []
    for room in range(len(everything) - 1, 0, -1):
        if budget == "category":
            kinds = tuple(replace(each, budget=room) for each in PROFILE.categories)
            profile = replace(PROFILE, categories=kinds)
        elif budget == "lines":
            profile = limited(memory_lines=room)
        else:
            profile = limited(memory_bytes=size(shown(everything, profile=limited(memory_lines=room))))
        gone = {each.id for each in everything} - set(ids(shown(everything, profile=profile))) - set(left)
        left += sorted(gone)
    assert left == ["z0", "y1", "a2", "b3", "c4"]


def test_ties_are_decided_by_id():
    assert ids(shown([memory("b"), memory("a"), memory("c")], profile=limited(memory_lines=2))) == ["a", "b"]


@given(
    st.lists(
        st.tuples(st.text(max_size=300), st.sampled_from([USER_SCOPE, WEB, APP]), st.sampled_from(["rule", "fix", "unknown"])),
        max_size=30,
    ),
    st.integers(300, 4_000),
)
def test_the_file_never_exceeds_its_bytes(given_, most):
    memories = [memory(f"{n}", content=text, scope=scope, category=category) for n, (text, scope, category) in enumerate(given_)]
    assert size(shown(memories, profile=limited(memory_bytes=most))) <= most


def test_the_bytes_that_are_counted_are_the_bytes_that_are_written():
    memories = [memory(f"{n}", scope=WEB if n % 2 else USER_SCOPE, category="fix" if n % 3 else "rule") for n in range(9)]
    most = size(shown(memories))
    assert len(ids(shown(memories, profile=limited(memory_bytes=most)))) == 9
    assert len(ids(shown(memories, profile=limited(memory_bytes=most - 1)))) == 8


def test_no_setting_and_no_pin_lets_the_file_reach_50_kb():
    memories = [memory(f"{n}", content=f"{n} " + "words " * 70, pinned=n % 2 == 0) for n in range(400)]
    document = shown(memories, profile=limited(memory_bytes=10**9, memory_lines=10**6))
    assert HARD_CAP - 600 < size(document) <= HARD_CAP
    assert len(encode_lines(render_file(document), Layout(newline="\r\n"))) < 50_000
    assert size(shown(memories, profile=limited(memory_bytes=10**9, memory_lines=10**6), reserved=20_000)) <= HARD_CAP - 20_000


def test_one_memory_more_pushes_out_only_the_last():
    memories = [memory(f"{n:03}", confidence=0.5 + n / 1000) for n in range(100)]
    profile = limited(memory_lines=50)
    before, after = set(ids(shown(memories, profile=profile))), set(ids(shown([*memories, memory("new")], profile=profile)))
    assert before - after == {"050"}
    assert after - before == {"new"}


def test_projects_of_one_name_are_told_apart():
    other = "project:web-cccccc"
    document = shown([memory("a", scope=WEB), memory("b", scope=other), memory("c", scope=APP)], names=NAMES | {other: "Web"})
    assert {each.name for each in document.sections} == {"web (aaaaaa)", "Web (cccccc)", "app"}
    assert {each.name for each in shown([memory("a", scope=WEB)], names={WEB: "everywhere"}).sections} == {"everywhere (aaaaaa)"}


def test_a_hostile_project_name_is_only_a_name():
    document = shown([memory("a", scope=WEB)], names={WEB: "a\n# b <!-- @~/.ssh"})
    assert [line.text for line in render_file(document)][3] == "## a # b <\\!-- `@~/.ssh`"
    assert shown([memory("a", scope=WEB)], names={WEB: ""}).sections[0].name == "web-aaaaaa"


def test_a_machines_long_memory_is_cut_and_a_persons_is_not():
    words = "word " * 200
    document = shown([memory("a", content=words), memory("b", content=words, owned=True)])
    assert [len(fact.text) <= 500 for fact in document.sections[0].facts] == [True, False]
