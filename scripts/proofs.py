"""Run the slow tests, each file separately, and record in docs/proofs.md when it passed: ``python scripts/proofs.py [FILE …]``.

A file is recorded as soon as it ends. Files that never ran, or whose last run is the oldest, come first. So an interrupted campaign
loses one file, and the next campaign continues after it.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proofs.md"
REPORT = ROOT / ".torture.xml"
PYTEST = (sys.executable, "-m", "pytest", "-m", "slow or hypothesis")
NEVER = "| `{}` |  |  |  |  | never |"
HEAD = """# When the slow proofs last ran

`make torture` runs the slow tests, one file after the other, and records here when each file last passed. Files that have never
passed come first. A file that fails keeps the row of its last success; a file whose tests were all skipped keeps "never".

| file | passed | skipped | minutes | commit | day |
|---|---|---|---|---|---|
"""


def read_rows(page: str) -> dict[str, str]:
    """The rows of the page by test file."""
    return {found[1]: found[0] for found in re.finditer(r"^\| `([^`]+)` \|.*\|$", page, re.MULTILINE)}


def list_proofs() -> list[str]:
    """The test files with a slow test, or with a test of generated examples, of which a campaign runs more."""
    asked = [*PYTEST, "--collect-only", "-qq", "-p", "no:xdist"]
    printed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return sorted(set(re.findall(r"^(tests/\S+\.py)(?=:)", printed, re.MULTILINE)))


def write_page(rows: Mapping[str, str], proofs: Iterable[str]) -> str:
    """The page: the row of each test file, sorted by name."""
    return HEAD + "".join(f"{rows.get(each, NEVER.format(each))}\n" for each in sorted(proofs))


def write_rows(reports: Iterable[Path], commit: str, day: str) -> dict[str, str]:
    """The row of each test file without a failed test, by file."""
    cases: dict[str, list[ET.Element]] = defaultdict(list)
    for report in reports:
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it here
            cases[_file_of(case.get("classname", ""))].append(case)
    rows = {}
    for file, ran in cases.items():
        skipped = sum(case.find("skipped") is not None for case in ran)
        if any(case.find(bad) is not None for case in ran for bad in ("failure", "error")) or skipped == len(ran):
            continue
        minutes = sum(float(case.get("time", 0)) for case in ran) / 60
        rows[file] = f"| `{file}` | {len(ran) - skipped} | {skipped} | {minutes:.1f} | {commit} | {day} |"
    return rows


def _file_of(classname: str) -> str:
    parts = classname.split(".")
    end = next((number for number, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    return "/".join(parts[: end + 1]) + ".py"


def main() -> None:
    """Run the given test files (default: all), and write the page after each."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    rows, failed = read_rows(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}, []
    asked_for = sys.argv[1:]
    proofs = [*{*rows, *asked_for}] if asked_for else list_proofs()  # collecting all tests takes half a minute
    for proof in asked_for or sorted(proofs, key=lambda each: _day(rows.get(each, ""))):
        call = [*PYTEST, "-n", "2", "--dist", "worksteal", "--hypothesis-profile=long", "-rs", f"--junitxml={REPORT}", proof]
        REPORT.unlink(missing_ok=True)
        if subprocess.run(call, cwd=ROOT, check=False).returncode:
            failed.append(proof)
        rows |= write_rows([REPORT] * REPORT.exists(), commit, f"{datetime.now(UTC):%Y-%m-%d}")
        PAGE.write_text(write_page(rows, proofs), encoding="utf-8")
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def _day(row: str) -> str:
    return row.rstrip(" |").rsplit(" ", 1)[-1] if re.search(r"\d{4}-\d\d-\d\d \|$", row) else ""


if __name__ == "__main__":
    main()
