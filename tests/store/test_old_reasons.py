"""Reasons that earlier versions stored in other words are read in the words of today."""

from cases import each_case
from kept.core.memory import CHOSEN, LASTING, TEMPLATE, Frame, Held, Refused, Status
from kept.core.operation import Add
from kept.core.value import replace
from kept.extraction.rules.tellings import ERRAND
from kept.store.records import renew_reason
from kept.store.values import Span
from store_world import AT, archive, commit, event, judged, memory

OLD_ERRAND = "orders a note without words to keep"
OLD_CHOSEN = "the agent worded it as an option, which was chosen"


@each_case(
    ("stored", "today"),
    [
        (OLD_ERRAND, ERRAND),
        (f"held: {OLD_CHOSEN}", f"held: {CHOSEN}"),
        (f"kept refused it: {OLD_ERRAND} (a detail)", f"kept refused it: {ERRAND} (a detail)"),
        *((each, each) for each in (ERRAND, CHOSEN, "said once", "held: said once", "", "edited by the user", *sorted(LASTING))),
    ],
)
def test_a_stored_reason_is_read_in_the_words_of_today(stored, today):
    assert renew_reason(stored) == today


def test_every_reason_of_today_is_read_as_it_is_written():
    assert {renew_reason(each) for each in (*LASTING, *Frame, TEMPLATE)} == {*LASTING, *Frame, TEMPLATE}


def test_an_old_store_agrees_with_its_log_and_says_reasons_in_the_words_of_today(store):
    archive(store, event("a"))
    old = replace(memory("m1"), status=Status.HELD, reason=f"held: {OLD_CHOSEN}")
    refused = judged("c1", Refused(reason=OLD_ERRAND))
    doubtful = judged("c2", Held(reason=OLD_CHOSEN))
    doubtful = replace(doubtful, candidate=replace(doubtful.candidate, doubt=OLD_CHOSEN))
    commit(store, stage="extract", span=Span(thread=1, start=0, judged=((0, refused), (0, doubtful))))
    commit(store, Add(memory="m1", at=AT, reason=old.reason, value=old))
    assert store.log.memory("m1").reason == f"held: {CHOSEN}"
    assert [each.judged.verdict.reason for each in store.log.refused()] == [ERRAND]
    assert [each.judged.candidate.doubt for each in store.log.thread_proposals(1, 0)] == ["", CHOSEN]
    assert {operation.reason for _, operation in store.log.operations_on("m1")} == {f"held: {CHOSEN}"}
    assert store.find_damage() == ()
    store.log.rebuild()
    assert store.find_damage() == ()
