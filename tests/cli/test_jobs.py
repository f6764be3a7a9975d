"""``kept jobs``: the user's own agent answers files, and what it says is checked as with any model."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli_world import RULE, kept, told, transcript
from kept.pipeline.jobs import jobs_folder
from obedient import obey
from prepared import Prepared, do

FACT = "The importer must reject rows without a currency code in `rates.csv`."
LOST = "Well, that was wrong. Never ship on Fridays because nobody is there to roll it back."


def chatter(name):
    """What fills a session, so that it is asked about by itself."""
    return [f"Look at the {name} of gauge {number} and tell me what the keeper of it wrote down that day." for number in range(200)]


def fill(home):
    transcript(home / ".claude/projects/p/one.jsonl", RULE, f"Hm, all right. {FACT}", *chatter("level"))
    transcript(home / ".claude/projects/p/two.jsonl", "Please add the export.", LOST, *chatter("wind"), day="2026-01-06")
    do("run")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Prepared(tmp_path_factory, fill)


@pytest.fixture
def world(made, monkeypatch):
    return made.again(monkeypatch)


def agent(path, answer=obey):
    """An agent that reads the file and writes what it is asked for where it is told to."""
    text = Path(path).read_text()
    reply = next(each for each in text.splitlines() if each.endswith(".reply.json"))
    purposes = {
        '"requests"': "requests",
        '"paragraphs"': "journal",
        "remembers of one project": "outdated",
        '"operations"': "curate",
        '"sentences"': "recheck",
        '"lines"': "proofread",
        '"points"': "summary",
    }
    purpose = next((name for key, name in purposes.items() if key in text), "extract")
    body = answer(SimpleNamespace(purpose=purpose, system=text, prompt=text))
    Path(reply).write_text(body if isinstance(body, str) else json.dumps(body))
    return purpose


def done(capsys):
    """Prepare, answer and commit until nothing waits; how many jobs were answered."""
    count = 0
    while waiting := [each for each in told(capsys, "jobs", "prepare")["jobs"] if each["state"] == "waiting"]:
        for each in waiting:
            agent(each["path"])
        count += len(waiting)
        assert kept(capsys, "jobs", "commit")[0] == 0
        assert count < 20
    return count


def test_in_an_agents_shell_sentences_of_the_person_become_active_and_no_other_wording(capsys, world, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    other = "Rows of `rates.csv` without a currency code must be rejected by the importer."

    def rewording(ask):
        answer = obey(ask)
        for claim in answer["memories"]:
            if claim["passage"] == FACT:
                claim["rewording"] = other
        return answer

    for job in told(capsys, "jobs", "prepare")["jobs"]:
        agent(job["path"], rewording)
    assert kept(capsys, "jobs", "commit")[0] == 0
    assert LOST.partition(". ")[2] in {each["content"] for each in told(capsys, "list")}
    assert FACT in {each["content"] for each in told(capsys, "list")}
    assert other not in {each["content"] for each in (*told(capsys, "list"), *told(capsys, "list", "--held"))}


def test_an_agent_in_its_shell_approves_no_telling_that_waits(capsys, world, monkeypatch):
    doubtful = "Remember that gold users are always served first."
    transcript(world / ".claude/projects/p/three.jsonl", f"the prompt template of our bot should say\n{doubtful}", *chatter("rain"))
    do("run")
    held = {each["content"] for each in told(capsys, "list", "--held")}
    assert any("gold users" in each for each in held)
    monkeypatch.setenv("CLAUDECODE", "1")
    done(capsys)
    assert not [each for each in told(capsys, "list") if "gold users" in each["content"]]


def test_an_agent_in_its_shell_is_not_asked_to_curate(capsys, world, monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    done(capsys)
    assert told(capsys, "jobs", "prepare")["jobs"] == []


def test_an_agent_answers_the_jobs_and_the_memories_come(capsys, world):
    before = {each["content"] for each in told(capsys, "list")}
    assert done(capsys) >= 2
    after = {each["content"] for each in told(capsys, "list")}
    assert any("currency code" in each for each in after)
    assert before <= after
    assert told(capsys, "jobs")["jobs"] == []
    assert list((world / ".local/share/kept/jobs").iterdir()) == []
    assert kept(capsys, "check")[0] == 0


def test_what_becomes_of_memories_and_what_a_day_came_to_are_jobs_too(capsys, home):
    other = "The report of each night must list the rows of `rates.csv` without a currency code."
    asking = [f"Who reads gauge {number} on a day without wind?" for number in range(9)]
    transcript(home / ".claude/projects/p/one.jsonl", FACT, other, *asking)
    do("run")

    def merging(ask):
        entry = ask.purpose == "curate" and re.search(r"(?m)^(\d+) .*must list", ask.prompt)
        return {"operations": [{"id": int(entry[1]), "op": "merge", "with": 1, "reason": "one matter"}]} if entry else obey(ask)

    asked = set()
    while waiting := [each for each in told(capsys, "jobs", "prepare")["jobs"] if each["state"] == "waiting"]:
        asked |= {agent(each["path"], merging) for each in waiting}
        assert kept(capsys, "jobs", "commit")[0] == 0
    assert asked == {"extract", "recheck", "proofread", "curate", "outdated", "summary", "requests"}
    assert [each["content"] for each in told(capsys, "list") if "currency code" in each["content"]] == [FACT]


def test_a_change_that_is_not_applied_is_said(capsys, home):
    told_twice = ("Never commit the generated file `a.lock`.", "Never commit the generated file `b.lock`.")
    transcript(home / ".claude/projects/p/one.jsonl", *told_twice, *chatter("wind"))
    do("run")

    def retiring(ask):
        changes = [{"id": 7, "op": "retire", "with": 0, "reason": "clutter"}]
        return {"operations": changes} if ask.purpose == "curate" else obey(ask)

    shown = ""
    while waiting := [each for each in told(capsys, "jobs", "prepare")["jobs"] if each["state"] == "waiting"]:
        for each in waiting:
            agent(each["path"], retiring)
        shown += kept(capsys, "jobs", "commit")[1]
    assert "Not applied: 1 a number that is not there" in shown


def test_a_job_is_self_contained(capsys, world):
    job, *_ = told(capsys, "jobs", "prepare")["jobs"]
    _, text, _ = kept(capsys, "jobs", "show", job["id"][:6])
    assert "[e0] person: " in text
    assert '{"memories":[{"event":"e3","passage":' in text  # the form, by an example
    assert job["reply"] in text
    assert job["tokens"] < 15_000


def test_a_reply_that_cannot_be_used_changes_nothing_and_is_named(capsys, world):
    for each in told(capsys, "jobs", "prepare")["jobs"]:
        agent(each["path"], lambda _: '{"memories": [')
    before = told(capsys, "list")
    code, out, _ = kept(capsys, "jobs", "commit")
    assert code == 1
    assert "the reply was not used" in out
    assert told(capsys, "list") == before
    states = [each["state"] for each in told(capsys, "jobs", "list")["jobs"]]
    assert len(states) == 2
    assert not {"waiting", "answered"} & set(states)
    assert done_after_mending(capsys)


def done_after_mending(capsys):
    for each in told(capsys, "jobs", "list")["jobs"]:
        agent(each["path"])
    return kept(capsys, "jobs", "commit")[0] == 0


def test_jobs_come_a_few_at_a_time_and_stay_the_same(capsys, world):
    first = told(capsys, "jobs", "prepare", "--most", "1")
    assert (len(first["jobs"]), first["more"]) == (1, 2)
    assert told(capsys, "jobs", "prepare", "--most", "1") == first
    assert len(told(capsys, "jobs", "prepare")["jobs"]) == 3


def test_answered_jobs_make_room_for_further_ones(capsys, world):
    first = told(capsys, "jobs", "prepare", "--most", "1")["jobs"]
    agent(first[0]["path"])
    states = [each["state"] for each in told(capsys, "jobs", "prepare", "--most", "1")["jobs"]]
    assert sorted(states) == ["answered", "waiting"]


def test_preparing_and_listing_change_no_memory_and_leave_no_run(capsys, world):
    before = told(capsys, "log")
    told(capsys, "jobs", "prepare")
    told(capsys, "jobs", "list")
    assert told(capsys, "log") == before


def test_committing_without_a_reply_is_an_error_that_says_what_to_do(capsys, world):
    code, _, err = kept(capsys, "jobs", "commit")
    assert code == 2
    assert "kept jobs prepare" in err


def test_one_reply_of_two_is_taken_and_the_other_job_stays(capsys, world):
    first, second, *_ = told(capsys, "jobs", "prepare")["jobs"]
    agent(first["path"])
    code, out, _ = kept(capsys, "jobs", "commit")
    assert code == 0
    assert "without a reply" in out
    assert second["id"] in [each["id"] for each in told(capsys, "jobs", "list")["jobs"]]


def test_an_agents_transcript_of_this_work_is_not_remembered_once_more(capsys, world):
    job = told(capsys, "jobs", "prepare")["jobs"][0]
    text = Path(job["path"]).read_text()
    numbered = "\n".join(f"{n:>6}\u2192{each}" for n, each in enumerate(text.splitlines(), 1))
    path = world / ".claude/projects/p/zebra.jsonl"
    base = {
        "sessionId": "zebra",
        "cwd": "/x",
        "timestamp": "2026-01-09T10:00:00.000Z",
        "isSidechain": False,
        "userType": "external",
    }
    records = [
        base | {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Do the kept jobs."}},
        base
        | {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "message": {
                "role": "assistant",
                "id": "m",
                "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": job["path"]}}],
            },
        },
        base
        | {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": numbered}]},
        },
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    kept(capsys, "run")
    assert "currency" in json.dumps(told(capsys, "search", "currency", "--in", "turns"))
    assert "zebra" not in json.dumps(told(capsys, "search", "currency", "--in", "turns"))
    assert all(
        FACT not in Path(each["path"]).read_text()
        for each in told(capsys, "jobs", "prepare")["jobs"]
        if "zebra" in each["sessions"]
    )


def test_nothing_waits_where_nothing_was_read(capsys, home):
    assert told(capsys, "jobs", "prepare") == {"jobs": [], "more": 0}
    assert "There are no jobs" in kept(capsys, "jobs")[1]


@pytest.mark.parametrize("arguments", [["frobnicate"], ["show"], ["show", "zzz"], ["list", "x"]])
def test_a_wrong_call_is_an_error_of_usage(capsys, home, arguments):
    assert kept(capsys, "jobs", *arguments)[0] == 2


def test_the_folder_of_jobs_lies_in_kepts_own_state():
    assert jobs_folder(SimpleNamespace(paths=SimpleNamespace(state=Path("/s")))) == Path("/s/jobs")


def test_a_claim_that_is_not_clear_alone_is_a_job_of_its_own_before_it_is_remembered(capsys, home):
    vague = "No, it must never run in parallel."
    transcript(home / ".claude/projects/p/one.jsonl", "Look at the nightly import of the rates table.", vague, *chatter("level"))
    assert kept(capsys, "run")[0] == 0

    def answer(ask):
        if ask.purpose == "recheck":
            return {"sentences": [{"id": 1, "text": "The nightly import of the rates table must never run in parallel."}]}
        claims = [each for each in obey(ask)["memories"] if each["passage"] == vague] if ask.purpose == "extract" else []
        return {"memories": claims} if ask.purpose == "extract" else obey(ask)

    while waiting := [each for each in told(capsys, "jobs", "prepare")["jobs"] if each["state"] == "waiting"]:
        for each in waiting:
            agent(each["path"], answer)
        kept(capsys, "jobs", "commit")
        contents = [each["content"] for each in told(capsys, "list")]
        assert vague not in contents
    assert "The nightly import of the rates table must never run in parallel." in contents


def test_an_entry_of_the_journal_that_was_written_without_a_model_is_a_job_and_is_written_anew(capsys, home):
    transcript(home / ".claude/projects/p/one.jsonl", RULE, "Add the tide tables to the export of the harbour.")
    assert kept(capsys, "journal", "write", "--date", "2026-01-05", "--no-llm")[0] == 0
    (entry,) = (home / "journal").glob("*.md")
    before = entry.read_text()

    def answer(ask):
        if ask.purpose != "journal":
            return obey(ask)
        source = next(line.split()[0] for line in ask.prompt.splitlines() if line.startswith("s") and "tide tables" in line)
        text = "The tide tables were added to the export of the harbour."
        return {"paragraphs": [{"part": "worked", "text": text, "sources": [source]}]}

    asked = 0
    while waiting := [each for each in told(capsys, "jobs", "prepare")["jobs"] if each["state"] == "waiting"]:
        for each in waiting:
            agent(each["path"], answer)
        asked += len(waiting)
        assert kept(capsys, "jobs", "commit")[0] == 0
        assert asked < 10
    text = entry.read_text()
    assert "The tide tables were added to the export of the harbour." in text != before
    assert "the user's own agent" in text


def test_a_question_is_shown_whole_before_any_model_is_asked_and_as_it_is_asked(capsys, world):
    shown = told(capsys, "llm", "question")
    printed = kept(capsys, "llm", "question")[1]
    asked = [Path(each["path"]).read_text() for each in told(capsys, "jobs", "prepare")["jobs"]]
    assert LOST in shown["prompt"] or FACT in shown["prompt"]
    assert all(each.strip() in printed for each in (*shown["system"].splitlines(), *shown["prompt"].splitlines()))
    assert any(shown["system"].strip() in each and shown["prompt"].strip() in each for each in asked)


def test_a_question_that_is_not_asked_is_not_shown(capsys, world):
    code, out, err = kept(capsys, "llm", "question", "900")
    assert (code, out) == (2, "")
    assert "asks fewer than 900 questions" in err
