"""Faults as those meet them who care for machines: links, quotas, other owners, versions side by side; each with what mends it."""

import errno
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from test_doctor import calling, claude, command_of, edited, place, prepared, script, wrong  # noqa: F401 - the fixtures

from kept.install import checks, client_checks, doctor

ANOTHER = 12_345  # the number of a user who is not there


def moved(path, link):
    """Move a file and leave a link to it."""
    path.rename(link)
    path.symlink_to(link)


def hung(path):
    """A link that is a broken link, as to a disk that is not mounted."""
    moved(path, path.with_name("was"))
    path.unlink()
    path.symlink_to("/nowhere/unmounted")


def private(path):
    path.touch(mode=0o600)
    path.write_bytes(b"\0" * 99)


def emptied(path):
    path.unlink()
    path.write_bytes(b"")


def as_file(path):
    path.rename(path.with_name("aside"))
    path.write_text("")


def managed(paths, monkeypatch, name, text):
    folder = paths.root / "etc"
    (folder / "managed-settings.d").mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    monkeypatch.setattr(client_checks, "_MANAGED", (folder / "managed-settings.json",))


def without_room(monkeypatch, number):
    def refuse(**_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checks, "TemporaryFile", refuse)


def plugged(paths, version):
    """The plugin in a version, as Claude Code notes it."""
    folder = paths.root / ".claude" / "plugins" / "cache" / "kept" / "kept" / version
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "kept", "version": version}))
    script(folder, "bin/kept", f'exec {Path(sys.executable).with_name("kept")} "$@"')
    listed = {"version": 2, "plugins": {"kept@kept": [{"installPath": str(folder), "version": version}]}}
    (paths.root / ".claude" / "plugins" / "installed_plugins.json").write_text(json.dumps(listed))
    edited(claude(paths), lambda body: body.update(hooks={}, enabledPlugins={"kept@kept": True}))


def grown(path, number):
    with closing(sqlite3.connect(path)) as store:
        store.execute(f"PRAGMA user_version = {number}")


def twice(body):
    body["hooks"]["UserPromptSubmit"] *= 2


def matched(body, event, matcher):
    body["hooks"][event][0]["matcher"] = matcher


TOGETHER = {
    "hooks off in the local settings": (
        lambda p, _: (p.root / ".claude" / "settings.local.json").write_text('{"disableAllHooks": true}'),
        "settings.local.json: no hook",
    ),
    "hooks off by who manages the machine": (
        lambda p, m: managed(p, m, "managed-settings.json", '{"disableAllHooks": true}'),
        "managed-settings.json: no hook",
    ),
    "hooks off by a part of what manages the machine": (
        lambda p, m: managed(p, m, "managed-settings.d/10-hooks.json", '{"allowManagedHooksOnly": true}'),
        "10-hooks.json: hooks of yours",
    ),
    "hooks entered twice": (lambda p, _: edited(claude(p), twice), "settings.json calls kept twice"),
    "a hook that waits for milliseconds": (
        lambda p, _: edited(claude(p), lambda body: body["hooks"]["PreCompact"][0]["hooks"][0].update(timeout=10_000)),
        "for 10000 s",
    ),
    "a hook that has no time": (
        lambda p, _: edited(claude(p), lambda body: body["hooks"]["Stop"][0]["hooks"][0].update(timeout=0.01)),
        "within the 0.01 s",
    ),
    "a start that is heard after a resume only": (
        lambda p, _: edited(claude(p), lambda body: matched(body, "SessionStart", "resume")),
        "SessionStart",
    ),
    "a failure that is heard of another tool only": (
        lambda p, _: edited(claude(p), lambda body: matched(body, "PostToolUseFailure", "Edit")),
        "PostToolUseFailure",
    ),
    "no transcripts are written": (
        lambda p, _: edited(claude(p), lambda body: body.update(cleanupPeriodDays=0)),
        "cleanupPeriodDays",
    ),
    "transcripts on a disk that is not there": (lambda p, _: hung(p.root / ".claude" / "projects"), "projects is a broken link"),
}

OF_CLIENTS = {
    "settings with comments": (lambda p, _: claude(p).write_text(f"// mine\n{claude(p).read_text()}"), "not valid JSON"),
    "settings that are a dangling link": (lambda p, _: hung(claude(p)), "settings.json is a broken link"),
    "Python led astray by the client": (
        lambda p, _: edited(claude(p), lambda body: body.update(env={"PYTHONHOME": "/nowhere"})),
        "ends with code",
    ),
    "an old plugin": (lambda p, _: plugged(p, "0.0.1"), "0.0.1"),
}

OF_THE_MACHINE = {
    "a quota that is full": (lambda _, m: without_room(m, errno.EDQUOT), "quota"),
    "a home that is read-only": (lambda _, m: without_room(m, errno.EROFS), "Read-only"),
    "a store whose folder is a file": (lambda p, _: as_file(p.state), "is a file"),
    "an empty store": (lambda p, _: emptied(p.store), "is empty"),
    "a store of a newer kept": (lambda p, _: grown(p.store, 9_999), "newer"),
    "notes of hooks in a file": (
        lambda p, _: (p.state / "hooks").write_text(""),
        "hooks",
    ),
    "a store that sudo wrote": (lambda p, _: os.chown(p.store, ANOTHER, ANOTHER), "belongs to another user"),
    "settings for everybody": (lambda p, _: [p.config.mkdir(parents=True), p.config.chmod(0o777)], "everybody may write"),
    "a home for everybody": (lambda p, _: p.root.chmod(0o777), "everybody may write"),
    "rules that are a file": (lambda p, _: as_file(p.root / ".claude" / "rules"), "memory.md"),
    "a memory that leads to nowhere": (
        lambda p, _: [(p.root / ".claude/rules/memory.md").unlink(), (p.root / ".claude/rules/memory.md").symlink_to("/dev/null")],
        "memory.md",
    ),
    "a night whose note is spoilt": (lambda p, _: private(p.state / "night.json"), "contains no nightly run"),
    "a lock that is a folder": (lambda p, _: [p.lock.unlink(), p.lock.mkdir()], "run.lock"),
    "backups on a disk that is not there": (lambda p, _: p.backups.symlink_to("/nowhere/unmounted"), "backups"),
}


def test_faults_in_the_settings_of_a_client_are_all_found_at_once(place, calling, monkeypatch):  # noqa: F811
    for plant, _ in TOGETHER.values():
        plant(place, monkeypatch)
    found = wrong(place)
    assert [name for name, (_, told) in TOGETHER.items() if told not in found] == []


@pytest.mark.parametrize("name", OF_CLIENTS)
def test_a_fault_that_hides_others_of_a_client_is_found_and_named_with_what_mends_it(place, calling, monkeypatch, name):  # noqa: F811
    plant, told = OF_CLIENTS[name]
    plant(place, monkeypatch)
    assert told in wrong(place)


@pytest.mark.parametrize("name", OF_THE_MACHINE)
def test_a_fault_of_the_machine_is_found_and_named_with_what_mends_it(place, monkeypatch, name):  # noqa: F811
    monkeypatch.setattr(doctor, "check_clients", lambda _: iter(()))  # what it says of them is tried above
    plant, told = OF_THE_MACHINE[name]
    plant(place, monkeypatch)
    assert told in wrong(place)
