"""Large stores: the runs, days and files of the bundled sample with memories of years, some of them odd; or plain sentences."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kept.core.event import Origin
from kept.core.memory import Actor, Candidate, Evidence, Memory, Status
from kept.core.operation import Add
from kept.memories.new_memory import make_memory
from kept.pipeline.run import RunOptions, run_pipeline, sample_files
from kept.store.values import Draft

SINCE = datetime(2025, 3, 1, 9, tzinfo=UTC)
KINDS = ("decision", "constraint", "known_fix", "anti_pattern", "workflow", "open_question")
ODD = (
    "<script>alert('walnut')</script> & <b>bold</b> <img src=x onerror=alert(1)> is text, `<code>` too.",
    "אנחנו כותבים את כל התאריכים לפי ISO 8601, תמיד ב-UTC.",
    "التواريخ تُكتب دائمًا وفق ISO 8601 في `dates.py`.",
    "日付は必ず ISO 8601 で書き、`dates.py` の関数だけを使うこと。",
    "我们决定把所有日期都写成 ISO 8601，永远不用本地时间。",
    "A single_word_without_any_place_to_break_" + "x" * 400 + ", `and_another_in_code_" + "x" * 100 + ".py`.",
    "Long, with " + "many words that go on and on " * 690,
)


def fill(workspace, size, *, waiting=25, sample=True):
    """Add ``size`` active memories of twelve projects, and some held ones, to those of the sample."""
    if sample:
        run_pipeline(workspace, sample_files(), RunOptions(model=False), sample=True)
    contents = [*ODD, *(_sentence(number) for number in range(len(ODD), size))]
    made = [_memory(number, content, Status.ACTIVE) for number, content in enumerate(contents)]
    made += [_memory(size + number, f"Perhaps {_sentence(size + number)}", Status.HELD) for number in range(waiting)]
    run = workspace.store.log.start_run("run", SINCE)
    adds = tuple(Add(memory=each.id, at=each.last_seen, reason="typed", value=each) for each in made)
    base = Draft(run=run, stage="curate", subject="coding", actor=Actor.MACHINE, recorded_at=SINCE)
    for start in range(0, len(adds), 500):
        workspace.store.log.commit(replace(base, operations=adds[start : start + 500]))
    workspace.store.log.end_run(run, SINCE, {})


def tell(workspace, contents, category="decision", *, scopes=("user",)):
    """Remember sentences as a person tells them, in one commit: adding one looks for it among all others before."""
    profile, kind = workspace.kind(category)
    now = workspace.clock()
    values = [
        make_memory(
            f"{number:010x}",
            content,
            now,
            profile=profile.id,
            category=kind.id,
            scope=scopes[number % len(scopes)],
            trusted=True,
            trigger="told",
        )
        for number, content in enumerate(contents)
    ]
    adds = tuple(Add(memory=each.id, at=now, reason="told by the user", value=each) for each in values)
    run = workspace.store.log.start_run("add", now)
    workspace.store.log.commit(Draft(run=run, stage="person", subject="", actor=Actor.PERSON, recorded_at=now, operations=adds))
    workspace.store.log.end_run(run, now, {})


def _sentence(number):
    reason = ("tide", "crane", "pier")[number % 3]
    return f"We build part {number} of the harbor with tool-{number % 37} because the {reason} needs it."


def _candidate(number, content, kind="decision"):
    at = SINCE + timedelta(hours=9 * (number % 1_000))
    quote = Evidence(
        quote=content[:500], event=f"e-{number}", session=f"s-{number // 50}", path="f", at=at, author="human", origin=Origin.USER
    )
    return Candidate(
        id=f"{number:032x}",
        profile="coding",
        category=kind,
        scope=f"project:p-{number % 12}",
        content=content,
        confidence=0.8,
        trigger="rule",
        at=at,
        origin=Origin.USER,
        artifacts=(),
        evidence=(quote,),
        reasoning="typed by the user",
    )


def _memory(number, content, status):
    told = _candidate(number, content, KINDS[number % len(KINDS)])
    return Memory(
        id=f"{number:010x}",
        profile=told.profile,
        category=told.category,
        scope=told.scope,
        status=status,
        content=content,
        confidence=0.8,
        origin=Origin.USER,
        first_seen=told.at,
        last_seen=told.at,
        evidence=told.evidence,
        candidates=(told.id,),
        trigger="rule",
        reason="held: said once" if status is Status.HELD else "",
    )
