"""Entries for the system's schedulers: what they say, and that they come and go without a trace."""

import os
import plistlib
import re
import shutil
import subprocess
from datetime import time
from pathlib import Path

import pytest

from kept.core.errors import KeptError, UsageError
from kept.install import schedule
from kept.install.schedule import CommandResult, JobEntry, SchedulerKind

ODD = JobEntry(command=("/opt/my tools/50% $HOME's kept", "schedule", "run"), at=time(2, 30), zone="America/New_York")


class Crontab:
    """A crontab, and the commands that were run on it."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text

    def __call__(self, words, given):
        if words == ["crontab", "-l"]:
            return (
                CommandResult(code=1, out="no crontab for root")
                if self.text is None
                else CommandResult(code=0, out=self.text.rstrip("\n"))
            )
        self.text = None if words == ["crontab", "-r"] else given
        return CommandResult(code=0, out="")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path):
    program = tmp_path / "50% o'kept"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    entry = JobEntry(command=(str(program), "schedule", "run"), at=time(2, 30), zone="America/New_York")
    paths = []
    for path, text in schedule.job_entry_files(SchedulerKind.SYSTEMD, entry, tmp_path, {}).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths.append(path)
    done = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", *paths], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if "kept" in line]
    assert told == []


def test_the_timer_makes_up_for_a_missed_night_and_names_its_zone():
    text = schedule.timer_text(ODD)
    assert "OnCalendar=*-*-* 02:30:00 America/New_York\n" in text
    assert "Persistent=true\n" in text


def test_nothing_in_a_path_is_expanded():
    assert 'ExecStart="/opt/my tools/50%% $$HOME\'s kept" schedule run\n' in schedule.service_text(ODD)
    line = schedule.cron_line(ODD)
    assert line.startswith("""30 2 * * * nice -n 19 '/opt/my tools/50\\% $HOME'"'"'s kept' schedule run """)
    with pytest.raises(UsageError):
        schedule.cron_line(JobEntry(command=("a\nb",), at=time(1)))


def test_the_agent_of_launchd_can_be_read_back():
    agent = plistlib.loads(schedule.launchd_text(ODD).encode())
    assert agent["ProgramArguments"] == list(ODD.command)
    assert agent["StartCalendarInterval"] == {"Hour": 2, "Minute": 30}


def elapses(spec, base, times=2):
    """When systemd would start a timer after a moment."""
    words = ["systemd-analyze", "calendar", f"--iterations={times}", f"--base-time={base} UTC", spec]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env={"TZ": "UTC", "PATH": os.environ["PATH"]}).stdout
    return re.findall(r"(?:Next elapse|Iter\. #\d+|Iteration #\d+): \w+ (\S+ \S+)", said)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
@pytest.mark.parametrize(
    ("at", "base", "expected"),
    [
        ("02:30", "2026-06-01 12:00", ["2026-06-02 06:30:00", "2026-06-03 06:30:00"]),
        ("02:30", "2026-03-07 12:00", ["2026-03-09 06:30:00", "2026-03-10 06:30:00"]),  # there is no 02:30 on 8 March: left out
        ("01:30", "2026-10-31 12:00", ["2026-11-01 05:30:00", "2026-11-02 06:30:00"]),  # 01:30 is there twice on 1 November: once
    ],
)
def test_a_timer_never_starts_twice_in_a_night_in_which_the_clock_jumps(at, base, expected):
    entry = JobEntry(command=("kept",), at=time.fromisoformat(at), zone="America/New_York")
    spec = re.search("OnCalendar=(.*)", schedule.timer_text(entry)).group(1)
    assert elapses(spec, base) == expected


def test_each_machine_is_started_at_the_hour_of_its_own_zone():
    lines = {
        zone: re.search("OnCalendar=(.*)", schedule.timer_text(JobEntry(command=("kept",), at=time(2, 30), zone=zone))).group(1)
        for zone in ("Asia/Tokyo", "America/New_York", "")
    }
    assert lines == {
        "Asia/Tokyo": "*-*-* 02:30:00 Asia/Tokyo",
        "America/New_York": "*-*-* 02:30:00 America/New_York",
        "": "*-*-* 02:30:00",
    }


def test_the_agent_of_launchd_has_only_keys_that_launchd_knows_each_of_its_kind():
    kinds = {
        "Label": str,
        "ProgramArguments": list,
        "ProcessType": str,
        "LowPriorityIO": bool,
        "Nice": int,
        "StartCalendarInterval": dict,
        "RunAtLoad": bool,
        "StandardOutPath": str,
        "StandardErrorPath": str,
    }
    agent = plistlib.loads(schedule.launchd_text(ODD).encode())
    assert {name: type(value) for name, value in agent.items()} == kinds
    assert agent["ProcessType"] == "Background"
    assert all(isinstance(each, str) for each in agent["ProgramArguments"])
    assert agent["ProgramArguments"][0].startswith("/")


def test_launchd_is_told_of_the_entry_and_its_end_by_name():
    said = []

    def run(words, _given):
        said.append(list(words))
        return CommandResult(code=0, out="")

    place = Path("/h/x.xml")
    schedule.enable_job(SchedulerKind.LAUNCHD, ODD, (place,), run)
    schedule.disable_job(SchedulerKind.LAUNCHD, (place,), run)
    assert [each[1] for each in said] == ["bootout", "bootstrap", "bootout"]
    assert all(each[2].startswith("gui/") and each[3] == str(place) for each in said)


@pytest.mark.parametrize("before", [None, "", "5 4 * * * backup\n# mine\n"])
def test_a_crontab_is_as_before_after_install_and_uninstall(before):
    table = Crontab(before)
    schedule.enable_job(SchedulerKind.CRON, ODD, (), table)
    schedule.enable_job(SchedulerKind.CRON, ODD, (), table)
    assert table.text.count(schedule.MARK) == 1
    assert schedule.find_crontab_line(table)
    schedule.disable_job(SchedulerKind.CRON, (), table)
    assert (table.text or "") == (before or "")


def test_lines_of_other_encodings_and_line_ends_in_a_crontab_stay_as_they_are(tmp_path, monkeypatch):
    table, before = tmp_path / "table", b"\n# caf\xe9\r\n5 4 * * * a\x0cb\n"
    (tmp_path / "crontab").write_text(f'#!/bin/sh\nif [ "$1" = -l ]; then cat {table}; else cat > {table}; fi\n')
    (tmp_path / "crontab").chmod(0o755)
    table.write_bytes(before)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    schedule.enable_job(SchedulerKind.CRON, ODD, ())
    assert table.read_bytes().startswith(before)
    schedule.disable_job(SchedulerKind.CRON, ())
    assert table.read_bytes() == before


def test_a_crontab_that_cannot_be_read_is_left_alone():
    def broken(words, _given):
        return CommandResult(code=1, out="permission denied") if words[1] == "-l" else pytest.fail("it was written")

    with pytest.raises(KeptError, match="permission denied"):
        schedule.enable_job(SchedulerKind.CRON, ODD, (), broken)


def test_what_the_system_has_is_found_the_best_first():
    everything = {"find_program": lambda name: f"/bin/{name}"}
    assert schedule.available_schedulers("linux", **everything) == (SchedulerKind.SYSTEMD, SchedulerKind.CRON)
    assert schedule.available_schedulers("darwin", **everything)[0] is SchedulerKind.LAUNCHD
    assert schedule.available_schedulers("linux", find_program=lambda _: None) == ()


def test_a_configuration_folder_outside_the_home_is_not_used():
    assert schedule.units_folder(Path("/h"), {"XDG_CONFIG_HOME": "/etc"}) == Path("/h/.config/systemd/user")
    assert schedule.units_folder(Path("/h"), {"XDG_CONFIG_HOME": "/h/c"}) == Path("/h/c/systemd/user")
