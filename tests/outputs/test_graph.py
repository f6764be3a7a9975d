"""The knowledge graph: what its nodes and edges stand for, and that it stays within bounds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kept.core.artifact import find_artifacts
from kept.core.event import Origin
from kept.core.memory import Memory, Status
from kept.outputs.graph import EdgeKind, NodeKind, build_graph
from kept.profiles import load_profile

NOW = datetime(2026, 10, 1, tzinfo=UTC)
NAMES = {"project:harbor-1": "harbor", "project:quay-2": "quay"}


def memory(number, content, scope="project:harbor-1", category="decision", profile="coding", **facts):
    value = Memory(
        id=f"m{number:04}",
        profile=profile,
        category=category,
        scope=scope,
        status=Status.ACTIVE,
        content=content,
        confidence=0.9,
        origin=Origin.USER,
        first_seen=NOW,
        last_seen=NOW,
        artifacts=find_artifacts(content),
    )
    return replace(value, **facts)


def drawn(*memories, profiles=("coding",), **options):
    return build_graph(memories, [load_profile(each) for each in profiles], as_of=NOW, names=NAMES, **options)


def ends(found, kind):
    return {(each.source, each.target) for each in found.edges if each.kind is kind}


def test_a_memory_is_tied_to_its_project_and_to_what_several_memories_name():
    found = drawn(
        memory(1, "Use `parser.py` for feeds."), memory(2, "Never edit `parser.py` by hand."), memory(3, "Use `uv` alone.")
    )
    assert ends(found, EdgeKind.ABOUT) == {(f"m000{each}", "projects/harbor") for each in (1, 2, 3)}
    assert ends(found, EdgeKind.NAMES) == {("m0001", "resources/parser-py"), ("m0002", "resources/parser-py")}
    (tie,) = (each for each in found.edges if each.kind is EdgeKind.TOGETHER)
    assert (tie.source, tie.target, tie.weight) == ("projects/harbor", "resources/parser-py", 2)


def test_what_ended_is_no_part_of_it():
    found = drawn(
        memory(1, "Old.", status=Status.RETIRED), memory(2, "Gone.", valid_until=NOW), memory(3, "Held.", status=Status.HELD)
    )
    assert found.nodes == found.edges == ()


def test_a_person_with_a_dossier_is_an_entity_and_those_who_speak_of_them_are_tied_to_it():
    found = drawn(
        memory(1, "Ana Ruiz: runs the society.", scope="user", category="people", profile="companion", subject="Ana Ruiz"),
        memory(2, "Likes walking with Ana Ruiz.", scope="user", category="preference", profile="companion"),
        profiles=("companion",),
    )
    assert ("m0002", "entities/ana-ruiz") in ends(found, EdgeKind.NAMES)
    assert {(each.kind, each.label) for each in found.nodes if each.kind is not NodeKind.MEMORY} == {
        (NodeKind.ENTITY, "Ana Ruiz"),
        (NodeKind.YOU, "You"),
    }


@pytest.mark.parametrize("most", [1, 10, 100])
def test_it_stays_within_its_bound_and_counts_what_it_leaves_out(most):
    many = [memory(number, f"Use `file_{number // 2}.py` for step {number}.") for number in range(200)]
    found = drawn(*many, most=most)
    assert len(found.nodes) == most
    assert len(found.nodes) + sum(found.left_out.values()) == 200 + 100 + 1
    there = {each.id for each in found.nodes}
    assert all(each.source in there and each.target in there for each in found.edges)


def test_the_weightiest_stay():
    rare, often = memory(1, "Rare `one.py`."), memory(2, "Often `one.py`.", observations=9)
    found = drawn(rare, often, most=2)
    assert [each.id for each in found.nodes if each.kind is NodeKind.MEMORY] == ["m0002"]


def test_a_node_knows_the_page_that_is_written_about_it():
    found = drawn(memory(1, "Use `uv`."), pages={"projects/harbor": "kept/pages/projects/harbor.md"})
    assert [each.page for each in found.nodes if each.kind is NodeKind.PROJECT] == ["kept/pages/projects/harbor.md"]
