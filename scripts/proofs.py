"""Note in docs/proofs.md which slow proofs ran to their end, and when: ``python scripts/proofs.py REPORT.xml …``."""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "proofs.md"
HEAD = """# When the slow proofs last ran

`make torture` runs them and notes here what ran to its end. A file that is not listed has not run to its end since this page
exists; one that fails keeps its last good row.

| file | passed | skipped | minutes | commit | day |
|---|---|---|---|---|---|
"""


def read_rows(page: str) -> dict[str, str]:
    """The rows of the page, by file."""
    return {found[1]: found[0] for found in re.finditer(r"^\| `([^`]+)` \|.*\|$", page, re.MULTILINE)}


def write_rows(reports: Iterable[Path], commit: str, day: str) -> dict[str, str]:
    """A row for each file of which no test failed, by file."""
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
    """Write the page anew."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    rows = read_rows(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    rows |= write_rows(map(Path, sys.argv[1:]), commit, f"{datetime.now(UTC):%Y-%m-%d}")
    PAGE.write_text(HEAD + "".join(f"{row}\n" for _, row in sorted(rows.items())), encoding="utf-8")


if __name__ == "__main__":
    main()
