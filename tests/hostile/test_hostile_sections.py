"""Project files that mislead about where kept's section is: not a byte outside the section changes, nothing a person wrote goes."""

import pytest

from hostile_world import KEPT_OF_RULE, RULE, answer, human, lines, memories, run_at, sampled, with_sections, write
from kept.core.memory import Status

HEADING = "## Memory Loop Insights"
FILES = {
    "nothing": "",
    "no section": "# Project\n\nhand written\n",
    "no section and no newline": "# Project\n\nhand written",
    "the heading in a fence": f"# Project\n```md\n{HEADING}\nexample\n```\nhand written after\n",
    "the heading in a fence of tildes that never ends": f"# Project\n~~~~\n{HEADING}\n~~~\nstill inside\n",
    "the heading in a quote, a list, "
    "code, HTML": f"> {HEADING}\n\n- {HEADING}\n\n    {HEADING}\n\n<pre>\n{HEADING}\n</pre>\n<!--\n{HEADING}\n-->\n",
    "headings that look alike": f"# P\n{HEADING} (2025)\n- a\n#{HEADING}\nx\n##  Memory  Loop Insights\ny\n### # {HEADING}\n",
    "an underlined heading": "# P\nMemory Loop Insights\n--------------------\nhand written\n",
    "windows line ends": "# P\r\ntext\r\n",
    "a byte order mark": "\ufeff# P\ntext\n",
    "another tool's section": f"# P\ntext\n\n{HEADING}\n- theirs, not kept's\n",
    "another tool's section without a newline": f"# P\ntext\n{HEADING}\n- theirs",
    "own notes in another tool's section": f"# P\n{HEADING}\n- theirs\n### My own notes\nkeep me\n## Next\nkeep me too\n",
    "two sections": f"# P\n{HEADING}\n- theirs\n## Next\nkeep me\n{HEADING}\n- again\n",
    "marks of kept's that kept did not write": "# P\n<!-- kept: user constraint 0000000000 -->\n<!-- memory:end -->\nkeep me\n",
}


@pytest.fixture
def project(tmp_path):
    """A project below a home whose profile writes sections."""
    home = tmp_path / "home"
    with_sections(home)
    (home / "harbor").mkdir()
    return home / "harbor"


def learn(project, *words, session="s"):
    said = lines(*(each for text in words for each in (human(text, cwd=str(project), sessionId=session), answer("Done."))))
    return run_at(project.parent, write(project.parent.parent / "in", said, f"{session}.jsonl"))


def again(project):
    return run_at(project.parent, project.parent.parent / "in")


def is_kept(before: bytes, after: bytes) -> bool:
    """Whether every line of a file is there still, in its order."""
    rest = iter(after.split(b"\n"))
    return all(any(line == other for other in rest) for line in before.rstrip(b"\n").split(b"\n"))


@pytest.mark.parametrize("name", sampled(FILES, 3))
def test_what_stood_in_a_project_file_stays_byte_for_byte(project, name):
    original = FILES[name].encode()
    path = project / "CLAUDE.md"
    if original:
        path.write_bytes(original)
    report = learn(project, RULE)
    text = path.read_bytes()
    assert KEPT_OF_RULE in text.decode() or any(str(path) in each for each in report.written.problems)
    assert is_kept(original, text)
    learned = [each.content for each in memories(project.parent)]
    assert len(learned) == 1
    assert again(project).body()["operations"] == {}
    assert path.read_bytes() == text
    assert [each.content for each in memories(project.parent)] == learned


def test_what_a_person_writes_around_and_into_the_section_stays(project):
    path = project / "CLAUDE.md"
    path.write_text("# P\nbefore\n")
    learn(project, RULE)
    text = path.read_text()
    path.write_text(text.replace("before\n", "before, changed\n") + "\n### My own notes\nkeep me\n\n## Next\nkeep me too\n")
    for session in ("t", "u"):
        learn(project, f"Never commit `out/{session}.bin` to this repository.", session=session)
    after = path.read_text()
    assert after.startswith("# P\nbefore, changed\n")
    assert after.endswith("## Next\nkeep me too\n")
    for words in ("### My own notes\nkeep me\n", KEPT_OF_RULE, "out/t.bin", "out/u.bin"):
        assert after.count(words) == 1, words


@pytest.mark.parametrize("name", sampled(("other", "own", "dotted", "slashed", "round"), 5))
def test_a_project_that_goes_by_several_names_has_one_section(project, name):
    ways = {
        "own": project,
        "other": project.parent / "link",
        "dotted": f"{project}/../harbor",
        "slashed": f"{project}//./",
        "round": f"{project}/loop",
    }
    (project.parent / "link").symlink_to(project)
    (project / "loop").symlink_to(project / "loop")
    learn(project, RULE, session="s")
    said = human("Never commit `out/x.bin` to this repository.", cwd=str(ways[name]), sessionId="t")
    run_at(project.parent, write(project.parent.parent / "in", lines(said), "t.jsonl"))
    text = (project / "CLAUDE.md").read_text()
    assert text.count(HEADING) == 1
    assert [each.status for each in memories(project.parent)] == [Status.ACTIVE] * 2
    assert again(project).body()["operations"] == {}
    assert (project / "CLAUDE.md").read_text() == text


@pytest.mark.shared
@pytest.mark.parametrize("name", ["c01", "c02", "c04", "c05", "c07", "c08"])
def test_the_shared_project_files_behave_as_their_index_says(shared, project, name):
    (given,) = (shared / "hostile" / "claude_md").glob(f"{name}_*")
    original = given.read_bytes()
    (project / "CLAUDE.md").write_bytes(original)
    report = learn(project, RULE)
    after = (project / "CLAUDE.md").read_bytes()
    assert is_kept(original, after)
    assert KEPT_OF_RULE.encode() in after or report.partly
    assert again(project).body()["operations"] == {}
    assert (project / "CLAUDE.md").read_bytes() == after
