"""The pages of figures and of slow proofs: a figure has its command, commit and limits; a proof counts once it ran to its end."""

import importlib.util
import re
from pathlib import Path

from cases import each_case

ROOT = Path(__file__).parents[2]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FIGURES, PROOFS = load("figures"), load("proofs")


def test_every_figure_stands_with_its_command_commit_day_and_limits_and_tuned_sets_are_marked():
    sections = FIGURES.read_sections(FIGURES.PAGE.read_text(encoding="utf-8"))
    known = {figure.title: figure for figure in FIGURES.FIGURES}
    assert sections.keys() <= known.keys()
    assert len(sections) >= 6
    for title, section in sections.items():
        figure = known[title]
        assert f"`{figure.command}` · commit " in section
        assert re.search(r"commit [0-9a-f]{7,} · \d{4}-\d\d-\d\d\n", section)
        assert f"{FIGURES.TUNED if figure.tuned else ''}Limits: {figure.says_not}" in section
        assert FIGURES.TUNED in section or not figure.tuned


def test_a_section_that_is_written_is_read_again_as_it_was():
    section = FIGURES.write_section(FIGURES.FIGURES[0], "a line\n  another   \n")
    assert FIGURES.read_sections(f"{FIGURES.HEAD}\n{section}") == {FIGURES.FIGURES[0].title: section}


@each_case("script", sorted({each.command.split()[1] for each in FIGURES.FIGURES if each.command.startswith("python")}))
def test_every_script_that_a_figure_calls_is_there(script):
    assert (ROOT / script).exists()


REPORT = """<testsuites><testsuite>
<testcase classname="tests.torture.test_kill" name="a" time="60"/><testcase classname="tests.torture.test_kill" name="b" time="30"/>
<testcase classname="tests.torture.test_disk" name="a" time="1"/>
<testcase classname="tests.torture.test_disk" name="b" time="1"><failure/></testcase>
<testcase classname="tests.torture.test_power_cut" name="a" time="1"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_proof_is_noted_only_where_it_ran_and_nothing_of_its_file_failed(tmp_path):
    (tmp_path / "report.xml").write_text(REPORT, encoding="utf-8")
    rows = PROOFS.write_rows([tmp_path / "report.xml"], "abc1234", "2026-11-23")
    assert rows == {"tests/torture/test_kill.py": "| `tests/torture/test_kill.py` | 2 | 0 | 1.5 | abc1234 | 2026-11-23 |"}
    assert PROOFS.read_rows(PROOFS.HEAD + "\n".join(rows.values())) == rows


def test_the_page_of_proofs_tells_of_each_when_it_ran_or_that_it_never_did():
    rows = {"tests/b.py": "| `tests/b.py` | 2 | 0 | 1.5 | abc1234 | 2026-11-23 |"}
    page = PROOFS.write_page(rows, ["tests/b.py", "tests/a.py"])
    assert page.splitlines()[-2:] == ["| `tests/a.py` |  |  |  |  | never |", rows["tests/b.py"]]
    assert PROOFS.read_rows(page)["tests/b.py"] == rows["tests/b.py"]


def test_the_page_of_proofs_names_every_file_with_a_slow_test():
    slow = {file for file in (ROOT / "tests").rglob("test_*.py") if "pytest.mark.slow" in file.read_text(encoding="utf-8")}
    named = PROOFS.read_rows(PROOFS.PAGE.read_text(encoding="utf-8"))
    assert {file.relative_to(ROOT).as_posix() for file in slow} - {"tests/repository/test_figures.py"} <= named.keys()


def test_the_replies_that_a_figure_scores_are_those_of_readers():
    folders = [ROOT / path for each in FIGURES.FIGURES for path in re.findall(r"--replies (\S+)", each.command)]
    assert folders
    assert [folder for folder in folders if not list(folder.glob("*/trial/*.json"))] == []
