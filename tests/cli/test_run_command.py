"""``kept run`` and its report."""

import json
import re
from zoneinfo import ZoneInfo

import pytest

from cases import each_case
from cli_world import OTHER, RULE, contents, kept, memory_file, told, transcript
from kept.cli.report import missed_lines
from kept.days.coverage_report import CoverageReport
from kept.local.files import hold_lock

KEYS = [
    "sources",
    "sessions",
    "events",
    "days",
    "episodes",
    "candidates",
    "accepted",
    "held",
    "refused",
    "operations",
    "outputs",
    "skipped",
    "llm",
    "seconds",
]  # what scripts rely on


@pytest.fixture
def projects(home):
    return home / ".claude" / "projects" / "-home-u-harbor"


def test_a_run_reads_what_it_finds_and_shows_what_is_new(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    code, out, err = kept(capsys, "run", "--no-llm")
    assert (code, err) == (0, "")
    assert "Read 1 session of 1 day from claude-code" in out
    assert "New: 1 memory" in out
    assert "ISO 8601" in out
    assert str(memory_file(home)) in out
    assert "ISO 8601" in memory_file(home).read_text()


def test_a_run_with_nothing_new_says_so_in_one_line_and_writes_nothing(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    kept(capsys, "run")
    before = contents(home)
    code, out, err = kept(capsys, "run")
    assert (code, err) == (0, "")
    assert out.startswith("Nothing new.")
    assert out.count("\n") == 1
    assert contents(home) == before


def test_what_waits_is_one_number_for_every_run_the_state_and_the_review(capsys, home, projects):
    wishes = [
        f"We should not move the {word} out of our harbor file, as all docks and the pilots need it there every day in the morning."
        for word in "abcdefghijklmn"
    ]
    transcript(projects / "a.jsonl", RULE, *wishes)
    said = [kept(capsys, *command)[1] for command in (["run"], ["run"], ["status"])]
    numbers = {re.search(r"([\d,]+) proposals? (?:is|are) held", out)[1] for out in said}
    assert numbers == {str(len(told(capsys, "review")))}


def test_a_run_lists_what_it_holds_only_if_the_review_would_show_it_and_shows_it_once(capsys, home, projects):
    likely, unlikely = "In this repo we want to commit the harbor.lock file.", "Can you check the pier in the future again?"
    transcript(projects / "a.jsonl", likely, unlikely)
    _, out, _ = kept(capsys, "run", "--no-llm")
    assert "\n1 proposal is held for your decision" in out
    assert out.count("harbor.lock") == 1
    assert "the pier" not in out
    assert "the pier" in kept(capsys, "review", "--all")[1]


def test_the_json_report_is_one_object_with_the_fixed_names(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE, day="2026-01-05")
    transcript(projects / "b.jsonl", OTHER, day="2026-01-07")
    report = told(capsys, "run")
    assert report.keys() >= set(KEYS)
    assert (report["sources"], report["sessions"], report["days"]) == ({"claude-code": 2}, 2, 2)
    assert report["outputs"][0]["path"] == str(memory_file(home))
    transcript(projects / "c.jsonl", "Thanks, that looks right.", day="2026-01-09")
    assert told(capsys, "run")["days"] == 1


def test_a_trial_run_leaves_no_trace_of_what_it_read(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    code, out, _ = kept(capsys, "run", "--dry-run")
    assert code == 0
    assert out.startswith("Dry run")
    assert "Would write" in out
    assert "\nharbor\n" in out, "as the run itself calls the project"
    assert not memory_file(home).exists()
    assert told(capsys, "list") == []
    assert told(capsys, "sources")["files"] == []


def test_a_dry_run_and_the_run_itself_count_as_many_proposals(capsys, home, projects):
    wishes = (
        "I would prefer that the greenhouse readings go to Postgres tables.",
        "Please look at the tests, always look at them twice.",
    )
    transcript(projects / "a.jsonl", RULE, *wishes)
    dry = kept(capsys, "run", "--dry-run", "--no-llm")[1]
    wished = re.search(r"New, held for you: (\d+) wish(?:es)? said once", dry)[1]
    kept(capsys, "run", "--no-llm")
    assert int(wished) > 0
    assert int(wished) == len(told(capsys, "review", "--all", "--list"))


def test_days_limit_which_sessions_are_analysed_and_the_others_wait(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE, day="2026-01-05")
    transcript(projects / "b.jsonl", OTHER, day="2026-01-07")
    told(capsys, "run", "--since", "2026-01-06", "--until", "2026-01-08", "--tz", "UTC")
    assert ["uv sync" in each["content"] for each in told(capsys, "list")] == [True]
    told(capsys, "run")
    assert len(told(capsys, "list")) == 2


def test_what_cannot_be_read_is_named_with_its_reason_and_exits_1(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    (projects / "link.jsonl").symlink_to(projects / "a.jsonl")
    code, out, _ = kept(capsys, "run")
    assert code == 1
    assert "Not read: 1 file" in out
    assert f"{projects / 'link.jsonl'}: symbolic link" in out
    assert "ISO 8601" in out
    code, out, err = kept(capsys, "run", "--quiet")
    assert (code, out) == (1, "")
    assert "symbolic link" in err


def test_a_second_run_at_the_same_time_says_so_and_exits_0(capsys, home):
    (home / ".local/share/kept").mkdir(parents=True)
    with hold_lock(home / ".local/share/kept/run.lock"):
        code, out, err = kept(capsys, "run")
        assert (code, out) == (0, "")
        assert err.startswith("kept: already running as process ")
        assert err.count("\n") == 1
        assert "already running" in told(capsys, "run")["busy"]


def test_quiet_says_nothing(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    assert kept(capsys, "run", "--quiet") == (0, "", "")


def test_verbose_tells_what_became_of_every_record(capsys, home, projects):
    path = transcript(projects / "a.jsonl", RULE)
    path.write_text(path.read_text() + '{"type": "summary", "summary": "s", "leafUuid": "x"}\n{broken\n')
    out = kept(capsys, "run", "--verbose")[1]
    assert "claude-code: 4 records = 2 kept + 2 set aside" in out
    out = kept(capsys, "sources", "--verbose")[1]
    assert "4 records = 2 kept + 2 set aside" in out
    assert f"{path}:4" in out
    body = told(capsys, "sources")["files"][0]
    assert body["records"] == body["kept"] + sum(body["dropped"].values()) == 4
    assert (body["malformed"], body["problems"][0]["line"]) == (1, 4)


def test_malformed_records_are_counted_where_nothing_or_something_else_was_read(capsys, home, projects, tmp_path):
    (export := tmp_path / "conversations.json").write_text('[{"mapping": {}, "current_node": 5}, 5, null]')
    assert "None of the new records could be read. 2 malformed records were skipped" in kept(capsys, "run", str(export))[1]
    path = transcript(projects / "a.jsonl", RULE)
    path.write_text(path.read_text() + "{broken\n")
    assert "1 malformed record was skipped" in kept(capsys, "run")[1]
    assert kept(capsys, "run")[1].startswith("Nothing new.")


def test_without_any_transcript_the_sample_is_run_in_a_home_of_its_own(capsys, home):
    code, out, err = kept(capsys, "run")
    sample = home / ".local/share/kept/sample-home"
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("No transcripts were found on this machine: this is kept's bundled sample.")
    assert "New: " in out
    assert str(memory_file(sample)) in out
    assert not (home / ".claude").exists()
    assert told(capsys, "list") == []
    assert told(capsys, "list", "--home", sample)
    assert told(capsys, "run")["sample"] is True


def test_the_sample_is_run_without_meanings_where_the_environment_turns_them_off(capsys, home, monkeypatch):
    monkeypatch.setenv("KEPT_EMBEDDINGS", "off")
    assert told(capsys, "run")["sample"] is True
    assert not [*home.rglob("vectors.bin")]


def test_a_person_who_has_memories_is_not_shown_the_sample(capsys, home):
    kept(capsys, "add", RULE, "--type", "constraint")
    assert kept(capsys, "run")[1].startswith("Nothing new.")


def test_a_given_path_without_transcripts_is_not_answered_with_the_sample(capsys, home, tmp_path):
    (tmp_path / "empty").mkdir()
    code, out, _ = kept(capsys, "run", tmp_path / "empty")
    assert code == 0
    assert out.startswith("Nothing to read was found.")


def test_edits_by_hand_are_taken_over_and_told(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE, OTHER)
    kept(capsys, "run")
    path = memory_file(home)
    path.write_text(path.read_text().replace("ISO 8601", "RFC 3339"))
    edited = path.read_text()
    code, out, _ = kept(capsys, "run")
    assert code == 0
    assert "Your own edits were applied: 1 reworded" in out
    day = re.compile(r"\d{4}-\d\d-\d\d")
    assert day.sub("", path.read_text()) == day.sub("", edited)  # what a person says today is dated today
    assert any("RFC 3339" in each["content"] for each in told(capsys, "list"))


def test_a_line_that_is_put_back_is_held_and_the_run_says_why_it_stays_in_the_file(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE, OTHER)
    kept(capsys, "run")
    path = memory_file(home)
    before = path.read_text()
    kept(capsys, "retire", next(each["id"] for each in told(capsys, "list") if each["content"] in RULE))
    path.write_text(before)
    out = kept(capsys, "run")[1]
    assert "Your own edits were applied: 1 held" in out
    assert "stays in the file and is held" in out
    assert "ISO 8601" in path.read_text()


def test_retiring_one_of_two_memories_that_say_the_same_names_the_other(capsys, home, projects):
    transcript(projects / "a.jsonl", "Remember that the mill is closed on Mondays.", cwd="/home/u/harbor")
    transcript(projects / "b.jsonl", "Remember that the mill is closed on Mondays.", cwd="/home/u/garden")
    kept(capsys, "run")
    first, second = (each["id"] for each in told(capsys, "list"))
    out = kept(capsys, "retire", first)[1].replace("\n", " ")
    assert f"says the same and stays in use: {second}" in out
    assert "says the same" not in kept(capsys, "retire", second)[1]


def test_a_dry_run_leads_to_nothing_that_it_did_not_store(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE, "Please look at the tests, always look at them twice.")
    kept(capsys, "suggest", "Boats are counted twice.", "--type", "constraint")
    out = kept(capsys, "run", "--dry-run")[1]
    assert "held for your decision" not in out
    assert "kept list --refused" not in out
    assert "can be searched" not in out


def test_an_empty_list_leads_to_what_is_held(capsys, home, projects):
    assert kept(capsys, "list")[1] == "Nothing to show. → kept run\n"
    kept(capsys, "add", RULE, "--type", "constraint")
    path = memory_file(home)
    path.write_text(path.read_text().replace("- In this", "- Boats are counted twice.\n- In this"))
    kept(capsys, "run")
    kept(capsys, "retire", told(capsys, "list")[0]["id"])
    assert kept(capsys, "list")[1] == "Nothing to show. → kept review --all\n"


def test_words_of_a_transcript_are_neither_markup_nor_escapes(capsys, home, projects):
    transcript(
        projects / "a.jsonl",
        "Never write [bold red]loud[/bold red] :boom: markers \x1b[31mhere\x1b[0m in `log.py`, always use `warn()`.",
    )
    out = kept(capsys, "run")[1] + kept(capsys, "search", "loud", "--in", "memories,turns")[1]
    assert "[bold red]loud[/bold red] :boom:" in out
    assert "\x1b" not in out


def test_search_ranks_sessions_by_what_was_said_in_them_best(capsys, home, projects):
    transcript(projects / "a.jsonl", "Where do the lanterns hang?", "The lanterns of the pier hang too low.", "Thanks.")
    transcript(projects / "b.jsonl", "Paint the lanterns.", "Rename the ferry.")
    kept(capsys, "run")
    asked = ("search", "where do lanterns hang", "--json", "--in", "turns")
    turns = json.loads(kept(capsys, *asked)[1])["hits"]
    sessions = json.loads(kept(capsys, *asked, "--sessions")[1])["hits"]
    assert len(turns) > len(sessions) == 2
    assert (sessions[0]["id"], sessions[0]["text"]) == (turns[0]["id"], turns[0]["text"])
    assert sessions[0]["score"] > turns[0]["score"]
    assert len(json.loads(kept(capsys, *asked, "--sessions", "--limit", "1")[1])["hits"]) == 1


def test_piped_output_has_no_boxes_colours_or_wrapping(capsys, home, projects):
    long = (
        "Never write to `deploy.log` from a background job in this repo, always send it to the `notify` queue and let the "
        "worker write it."
    )
    transcript(projects / "a.jsonl", long)
    out = kept(capsys, "run")[1]
    (shown,) = [each for each in out.splitlines() if "deploy.log" in each]
    assert "the worker write it" in shown
    assert not set("─│┌┐└┘━┃\x1b") & set(out)


def test_the_report_is_kept_with_the_run(capsys, home, projects):
    transcript(projects / "a.jsonl", RULE)
    report = told(capsys, "run")
    (run,) = told(capsys, "status")["runs"]
    assert run["report"]["operations"] == report["operations"] == {"add": 1}
    assert run["report"]["outputs"] == report["outputs"]


def test_a_folder_in_which_nothing_can_be_read_is_told_file_by_file_and_exits_1(capsys, home, tmp_path):
    for number in range(3):
        (tmp_path / "talks").mkdir(exist_ok=True)
        (tmp_path / "talks" / f"{number}.txt").write_text("we talked about the harbour\n")
    code, out, _ = kept(capsys, "run", tmp_path / "talks")
    assert code == 1
    assert "Not read: 3 files" in out
    assert "plain text without speakers' names" in out
    body = json.loads(kept(capsys, "run", tmp_path / "talks", "--json")[1])
    assert [each["path"].rpartition("/")[2] for each in body["skipped"]] == ["0.txt", "1.txt", "2.txt"]
    assert "3 files could not be read" in kept(capsys, "status")[1]
    assert len(told(capsys, "status")["not_read"]) == 3
    assert "3 files could not be read by the runs so far" in kept(capsys, "sources")[1]
    assert "3 files could not be read" in kept(capsys, "doctor")[1]
    kept(capsys, "sources", "exclude", tmp_path / "talks")
    kept(capsys, "run", "--no-llm")
    assert "could not be read" not in kept(capsys, "status")[1]


def test_what_else_lies_in_a_tools_folder_is_told_and_is_no_failure(capsys, projects):
    transcript(projects / "a.jsonl", RULE)
    (projects / "sessions-index.json").write_text("{}")
    code, out, _ = kept(capsys, "run", "--json")
    body = json.loads(out)
    assert (code, body["skipped"]) == (0, [])
    assert [each["path"].rpartition("/")[2] for each in body["left"]] == ["sessions-index.json"]


def test_prompts_that_were_taken_for_a_programs_are_told(capsys, home, projects):
    path = transcript(projects / "printed.jsonl", RULE, cwd="/tmp/job-7")
    path.write_text(path.read_text().replace('"isSidechain"', '"entrypoint": "sdk-cli", "isSidechain"'))
    out = kept(capsys, "run", "--no-llm")[1]
    assert "1 prompt of claude -p, codex exec or an SDK treated as written by a program" in out
    assert told(capsys, "list") == []


@pytest.mark.parametrize(("topics", "text"), [(2, "1 topic of 2 looks worth"), (3, "2 topics of 3 look worth")])
def test_missed_topics_are_counted_in_a_sentence(topics, text):
    (line,) = missed_lines(CoverageReport(topics=topics, covered=1), ZoneInfo("UTC"), whole=False)
    assert "".join(words for words, _ in line.body).startswith(text)


def test_missed_topics_are_listed_by_the_command_that_a_run_names(capsys, home, projects):
    transcript(projects / "a.jsonl", "I prefer small functions with early return instead of nested ifs. rewrite it like this")
    (command,) = re.findall("looks? worth remembering, but produced no memory → kept (.+)", kept(capsys, "run", "--no-llm")[1])
    missed = kept(capsys, *command.split())[1].rpartition("1 missed although")[2]
    assert "early return" in missed


def test_a_wish_that_a_run_finds_is_named_by_this_run_only(capsys, home, projects):
    transcript(projects / "a.jsonl", "In this repo we want to commit the harbor.lock file.")
    assert "harbor.lock" in kept(capsys, "run", "--no-llm")[1]
    transcript(projects / "b.jsonl", "Thanks, that looks right.", day="2026-01-06")
    out = kept(capsys, "run", "--no-llm")[1]
    assert "1 proposal is held for your decision" in out
    assert "harbor.lock" not in out


def test_a_run_counts_all_that_is_held_once_and_names_only_what_is_new(capsys, home):
    folder = home / ".claude/projects/-home-u-harbor"
    transcript(folder / "a.jsonl", "We decided to drop the CSV export, I guess.")
    kept(capsys, "run", "--no-llm")
    (first,) = told(capsys, "review")
    transcript(folder / "b.jsonl", "We decided to drop the fax gateway, I guess.", day="2026-01-06")
    out = kept(capsys, "run", "--no-llm")[1]
    new = next(each for each in told(capsys, "review") if each["id"] != first["id"])
    assert f"\n2 proposals are held for your decision → kept review\n    {new['id'][:10]}  {new['content']}\n" in out
    assert first["id"][:10] not in out
    assert out.count("proposal") == 1
    assert "\n2 proposals are held for your decision" in kept(capsys, "status")[1]


FINNISH = (
    "muista että testipalvelin on portissa 9443, ja korjaa kirjautumissivun virhe kun salasana on tyhjä",
    "miksi testit kaatuvat kun ajan ne toisen kerran peräkkäin",
    "lisää vielä uusi kenttä lomakkeelle ja tarkista että se tallentuu tietokantaan oikein",
)
DANISH = (
    "husk at testserveren kører på port 9443, og ret fejlen på login siden når adgangskoden er tom",
    "hvorfor fejler testene når jeg kører dem anden gang",
    "tilføj et nyt felt til formularen og tjek at det bliver gemt rigtigt i databasen, og at det er med i eksporten",
)
POLISH = (
    "zapamiętaj, że serwer testowy jest na porcie 9443, i popraw błąd na stronie logowania gdy hasło jest puste",
    "dlaczego testy nie przechodzą kiedy uruchamiam je drugi raz",
    "dodaj nowe pole do formularza i sprawdź czy dobrze zapisuje się w bazie danych",
)


@each_case("prompts, warned", [(FINNISH, True), (DANISH, True), (POLISH, False)])
def test_who_types_in_a_language_without_a_lexicon_is_told_that_nothing_was_found(home, capsys, prompts, warned):
    path = home / f"{prompts[0][:5]}.jsonl"
    root = ("--home", home / prompts[0][:5])
    transcript(path, *prompts)
    for command in (("run", path, "--no-llm"), ("status",), ("sources",)):
        _, out, _ = kept(capsys, *command, *root)
        assert ("what you asked it to remember was not found" in " ".join(out.split())) == warned
        assert ("docs/how-to/languages.md" in out) == warned


def test_a_run_says_how_many_texts_wait_for_search_by_meaning(capsys, home, monkeypatch):
    kept(capsys, "config", "set", "recall.embeddings", "hashing")
    monkeypatch.setattr("kept.pipeline.run.update_index", lambda *_: 0)
    transcript(home / ".claude/projects/p/one.jsonl", "Add the tide tables to the export of the harbour.")
    assert re.search(r"(?m)^\d+ texts? waits? for search by meaning → kept schedule run$", kept(capsys, "run")[1])


def test_sleep_says_which_texts_wait_for_search_by_meaning(capsys, home, monkeypatch):
    kept(capsys, "config", "set", "recall.embeddings", "hashing")
    monkeypatch.setattr("kept.changes.update_index", lambda *_: 0)
    kept(capsys, "add", "Releases go out on Tuesdays only.", "--type", "constraint")
    assert kept(capsys, "sleep")[1] == "1 text waits for search by meaning → kept schedule run\n"
    kept(capsys, "schedule", "run")
    assert kept(capsys, "sleep")[1] == "Nothing to do.\n"


def test_prompts_in_a_temporary_folder_are_not_called_those_of_claude_p(capsys, home):
    chats = home / ".gemini/tmp/x/chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/tmp/x")
    at = "2026-11-16T08:00:00.000Z"
    head = {"sessionId": "s", "projectHash": "p", "startTime": at, "lastUpdated": at, "kind": "main"}
    said = {"id": "m1", "timestamp": at, "type": "user", "content": [{"text": RULE}]}
    (chats / "session-2026-11-16T08-00-aaaa1111.jsonl").write_text(f"{json.dumps(head)}\n{json.dumps(said)}\n")
    out = kept(capsys, "run", "--no-llm")[1]
    assert "1 prompt in a temporary folder or on a build machine treated as written by a program" in out
    assert "claude -p" not in out


@pytest.mark.parametrize(
    ("command", "first", "last"),
    [
        (("run", "--no-llm"), "--since", "--until"),
        (("forget", "--dry-run"), "--since", "--until"),
        (("search", "dates"), "--since", "--until"),
        (("journal", "write"), "--from", "--to"),
        (("journal", "backfill"), "--from", "--to"),
    ],
)
def test_a_period_that_ends_before_it_begins_is_refused_before_anything_is_read(capsys, projects, command, first, last):
    transcript(projects / "a.jsonl", RULE)
    code, out, err = kept(capsys, *command, first, "2026-12-01", last, "2026-01-01")
    assert (code, out, err) == (2, "", f"kept: 2026-12-01 is after 2026-01-01 → give the earlier day with {first}\n")
    assert told(capsys, "log") == []
