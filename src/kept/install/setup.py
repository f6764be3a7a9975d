"""Install and uninstall: hooks in the settings of coding agents, the nightly job, and all files and lines that kept writes.

The previous content of a settings file is recorded, so that uninstalling restores its exact bytes if nobody else changed it.
"""

import base64
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from kept.changes import archive_before_edits
from kept.core.codec import to_canonical_json
from kept.core.errors import BusyError, KeptError, StoreError
from kept.core.markup import BOM, holds_mark, split_lines
from kept.core.value import dataclass, field
from kept.install import schedule
from kept.install.schedule import Run, run_command
from kept.local import files
from kept.local.clients import (
    AGENTS,
    CLAUDE,
    CLIENTS,
    CODEX,
    CODEX_SETTINGS,
    GEMINI,
    GEMINI_POLICY,
    PLUGIN_SUGGEST,
    POLICY,
    READERS,
    SUGGEST,
    Client,
    can_start,
    has_hooks,
    has_permission,
    has_plugin,
    hook_groups,
    with_codex_permission,
    with_hooks,
    with_permission,
    without_codex_permission,
    without_hooks,
)
from kept.memories.configure import change_setting
from kept.outputs import section
from kept.outputs.targets import list_editable_targets
from kept.outputs.view_file import list_views
from kept.outputs.write import WriteReport, merge_hand_edits
from kept.paths import Paths
from kept.store.values import Output
from kept.workspace import RunNumber, Workspace


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingsChange:
    """A planned or completed change to a file: its path, a description, and its new text."""

    path: Path
    what: str
    text: str


@dataclass(kw_only=True, slots=True)
class UninstallReport:
    """The result of uninstalling: the removed parts, the files that were saved elsewhere because a person had edited them, and the
    failures.
    """

    removed: list[str] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def hook_program() -> str:
    """The command with which a hook calls kept. It has kept's full path, because hooks run with a minimal PATH."""
    script = Path(sys.executable).with_name("kept")
    program = str(script) if script.is_file() else shutil.which("kept") or ""
    program = program if program and can_start(Path(program)) else ""
    return shlex.quote(program) if program else f"{shlex.quote(sys.executable)} -m kept"


def record_program_path(home: Paths, *, overwrite: bool = False) -> None:
    """Record this program's path for the plugin, because the plugin runs with a minimal PATH. A recorded path that works stays,
    unless ``overwrite``.
    """
    script, place = Path(sys.executable).with_name("kept"), home.state / "program"
    path = Path(files.read_text(place).strip() or "/")
    if script.is_file() and home.state.is_dir() and (path != script if overwrite else not path.is_file()):
        files.write_if_unchanged(place, f"{script}\n".encode(), expect=files.read_file(place).stamp, root=home.root)


def used_clients(home: Paths) -> tuple[Client, ...]:
    """The coding agents that are used on this machine and support hooks."""
    return tuple(client for client in CLIENTS if _is_used(home.of(client)))


def _is_used(folder: Path) -> bool:
    """True if an agent's folder exists and has more in it than the file that kept itself writes there."""
    try:
        names = [path.name for path in folder.iterdir()]
        return names != ["rules"] or any(path.name != "memory.md" for path in (folder / "rules").iterdir())
    except FileNotFoundError:
        return False
    except OSError:
        return folder.is_dir()


def hooked_clients(home: Paths) -> tuple[Client, ...]:
    """The coding agents whose settings call kept."""
    return tuple(client for client in CLIENTS if has_hooks(files.read_text(home.of(client) / client.file)))


def plugin_clients(home: Paths) -> tuple[Client, ...]:
    """The coding agents in which kept's plugin or extension is enabled. It provides the hooks."""
    return tuple(client for client in AGENTS if has_plugin(files.read_text(home.of(client) / client.plugins)))


def has_server(home: Paths) -> bool:
    """True if Claude Code's settings seem to contain kept's MCP server, for the user or for a project."""
    folder = home.of(CLAUDE)
    return any('"kept"' in files.read_text(place / ".claude.json") for place in (folder.parent, folder))


def section_clients(home: Paths) -> tuple[Client, ...]:
    """The agents in use that have an instruction file of their own. kept can write a section into it."""
    return tuple(client for client in READERS if home.of(client).is_dir())


def plan_hooks(home: Paths, *, hooks: bool = True, allow: bool = True) -> tuple[SettingsChange, ...]:
    """Return the changes that install the hooks. Empty if they are installed already or the plugin provides them.

    ``allow`` also lets the agents call the tool that saves the person's words without asking. Raises ConfigError if settings cannot
    be edited safely.
    """
    command = f"{hook_program()}{'' if home.root == home.user else f' --home {shlex.quote(str(home.root))}'}"
    changes = []
    with_plugin = plugin_clients(home)
    for client in used_clients(home):
        path = home.of(client) / client.file
        before = after = files.read_text(path)
        what = []
        if hooks and (client not in with_plugin or has_hooks(before)):
            after = with_hooks(before, command, str(path), client)
            trust = ", which calls them once you trust them there (/hooks)" if client is CODEX else ""
            what += [f"{len(hook_groups(client))} hooks for {client.name}{trust}"] if after != before else []
        if allow and client is CLAUDE:
            allowed = with_permission(after, PLUGIN_SUGGEST if client in with_plugin else SUGGEST, str(path))
            what += ["permission for one tool, the one that saves your words"] if allowed != after else []
            after = allowed
        if after != before:
            changes.append(SettingsChange(path=path, what=", ".join(what), text=after))
    return (*changes, *(_plan_permissions(home) if allow else ()))


def _plan_permissions(home: Paths) -> Iterator[SettingsChange]:
    """Yield the changes that let Codex and Gemini CLI call the tool that saves the person's words, if kept's server is
    installed.
    """
    for path, after in (
        (home.of(CODEX) / CODEX_SETTINGS, with_codex_permission(files.read_text(home.of(CODEX) / CODEX_SETTINGS))),
        (
            home.of(GEMINI) / GEMINI_POLICY,
            POLICY if GEMINI in plugin_clients(home) else files.read_text(home.of(GEMINI) / GEMINI_POLICY),
        ),
    ):
        if after != files.read_text(path):
            yield SettingsChange(path=path, what="permission for one tool, the one that saves your words", text=after)


def install_hooks(home: Paths, changes: tuple[SettingsChange, ...]) -> tuple[SettingsChange, ...]:
    """Write the changes of :func:`plan_hooks`, and record the previous content. Raises ConfigError, ChangedError."""
    note = _load_setup_note(home)
    for change in changes:
        content = files.read_file(change.path)
        data = change.text.encode()
        if str(change.path) not in note or not _has_kept_entries(content.data.decode("utf-8", "replace")):
            note[str(change.path)] = {"before": None if content.stamp == files.MISSING else base64.b64encode(content.data).decode()}
        note[str(change.path)]["after"] = base64.b64encode(data).decode()
        _save_setup_note(home, note)
        files.write_if_unchanged(change.path, data, expect=content.stamp, root=home.boundary(change.path))
    return changes


def uninstall_kept(workspace: Workspace, env: Mapping[str, str], *, run: Run = run_command) -> UninstallReport:
    """Remove all hooks, jobs, files and lines of kept outside its own folders. Hand edits are first merged into the store.

    An output file with a person's additions is saved elsewhere and reported. The store stays. :func:`delete_own_folders` deletes
    it.
    """
    left = uninstall_system_parts(workspace.paths, env, run=run)
    written, number = WriteReport(), RunNumber(workspace, "uninstall")
    with suppress(BusyError):  # an active run archives them itself
        archive_before_edits(workspace)
    merge_hand_edits(workspace, number, written)
    left.problems += written.problems
    remove_outputs(workspace, left)
    number.end({"removed": left.removed})
    return left


def uninstall_system_parts(home: Paths, env: Mapping[str, str], *, run: Run = run_command) -> UninstallReport:
    """Remove the hooks and the nightly job. This needs no store."""
    left = UninstallReport()
    _uninstall_clients(home, left)
    left.removed += schedule.uninstall_job(home, env, run=run)
    note = home.state / "program"
    if note.is_file():
        files.delete_if_unchanged(note, expect=files.read_file(note).stamp, root=home.root)
    return left


def _uninstall_clients(home: Paths, left: UninstallReport) -> None:
    note = _load_setup_note(home)
    edited: list[tuple[Path, str, Callable[[str, str], str]]] = [
        *((home.of(client) / client.file, "the hooks", without_hooks) for client in CLIENTS),
        (home.of(CODEX) / CODEX_SETTINGS, "the permission", _strip_permission),
        (home.of(GEMINI) / GEMINI_POLICY, "the permission", _strip_permission),
    ]
    for path, what, without in edited:
        content = files.read_file(path)
        text = content.data.decode("utf-8", "replace")
        contents = note.get(str(path), {})
        try:
            if not (_has_kept_entries(text) or _strip_permission(text, "") != text):
                continue
            before = contents.get("before")
            untouched = base64.b64decode(contents.get("after") or "") == content.data
            rest = base64.b64decode(before or "") if untouched else without(text, str(path)).encode()
            if before is None and rest.strip() in (b"", b"{}"):  # kept created the file
                files.delete_if_unchanged(path, expect=content.stamp, root=home.boundary(path))
                if path.name == Path(GEMINI_POLICY).name:
                    with suppress(OSError):
                        path.parent.rmdir()
            else:
                files.write_if_unchanged(path, rest, expect=content.stamp, root=home.boundary(path))
            left.removed.append(f"{what} in {path}")
        except KeptError as error:
            left.problems.append(str(error))
    if note:
        place = home.state / "setup.json"
        files.delete_if_unchanged(place, expect=files.read_file(place).stamp, root=home.root)


def _strip_permission(text: str, _: str) -> str:
    return without_codex_permission(text).replace(POLICY, "")


def _has_kept_entries(text: str) -> bool:
    """True if settings contain hooks of ``kept`` or a permission for it."""
    return has_hooks(text) or has_permission(text)


def remove_outputs(workspace: Workspace, left: UninstallReport) -> None:
    """Remove every file and section that kept wrote, even if the store is missing.

    The person's own lines in a file stay if the file is unchanged since kept wrote it. A changed file, or a section with lines of
    the person, is first copied elsewhere.
    """
    targets: dict[Path, bool | None] = dict.fromkeys(map(Path, workspace.store.outputs()))  # also of profiles no longer active
    targets |= {target.path: bool(target.heading) for target in list_editable_targets(workspace)}
    targets |= {path: False for path, _ in list_views(workspace)}
    for path, sectioned in targets.items():
        outputs = workspace.store.output_states(str(path))
        try:
            workspace.refuse_links(path)
            content = files.read_file(path)
            block = section.find_section(content.data, where=str(path)) if sectioned is not False else None
            in_section = sectioned or block is not None
            if content.stamp == files.MISSING or not (outputs or block or holds_mark(content.data)):
                continue
            inside = content.data if not in_section else block.inside if block else None
            if inside is not None:
                own = _find_person_lines(outputs, inside)
                if own is None or (in_section and own.strip()):
                    left.quarantined.append(str(files.copy_to_quarantine(path, into=workspace.paths.state / "aside")))
                rest = section.remove_section(content.data, absorbed=inside, where=str(path)) if in_section else own or b""
                stays = rest is not None if in_section else bool((rest or b"").strip())
                workspace.write_output(path, rest if stays else None, content.stamp)
                left.removed.append(f"the {'section' if in_section else 'lines of kept'} in {path}" if stays else str(path))
            workspace.store.drop_output(str(path))
        except (KeptError, OSError) as error:
            left.problems.append(str(error))
    home = workspace.paths
    try:
        if workspace.settings.sections:  # reset the setting, so that the next run does not write the sections again
            change_setting(home, "sections", "")
    except KeptError as error:
        left.problems.append(str(error))
    stay = {home.root, *(home.of(client) for client in CLIENTS), home.root / ".config"}  # the agents' own folders stay
    for path in targets:
        schedule.remove_empty_folders(path.parent, lambda folder: folder not in stay and folder.is_relative_to(home.root))


def _find_person_lines(outputs: tuple[Output, ...], inside: bytes) -> bytes | None:
    """Return the lines that a person wrote in an output file. None if the file has changed since ``kept`` wrote it."""
    text = inside.decode("utf-8", "replace")
    body = text.removeprefix(BOM)
    lines = split_lines(body)
    same = next((output for output in outputs if [line.text for line in output.lines] == [line for line, _ in lines]), None)
    if same is None or text.encode() != inside:
        return None
    own = [line + end for (line, end), written in zip(lines, same.lines, strict=True) if written.users]
    if own and lines and not lines[-1][1]:
        own[-1] = own[-1].rstrip("\r\n")
    return "".join([text[: len(text) - len(body)], *own]).encode() if own else b""


def delete_own_folders(home: Paths) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Delete kept's own folders: store, backups, settings, profiles, prompts. This cannot be undone.

    Returns the deleted folders, and those that are symbolic links, which stay. Raises StoreError while a run is active, because the
    run would write some of it again.
    """
    folders = [folder for folder in (home.state, home.config) if folder.is_dir()]
    links = tuple(folder for folder in folders if folder.is_symlink())
    gone = tuple(folder for folder in folders if folder not in links)
    try:
        with files.hold_lock(home.lock) if home.state in gone else nullcontext():
            for folder in gone:
                shutil.rmtree(folder)
    except BusyError as error:
        raise StoreError(f"nothing was deleted: {error}", hint="wait until that run is done, then run this again") from error
    return gone, links


def _load_setup_note(home: Paths) -> dict[str, dict[str, Any]]:
    try:
        note = json.loads(files.read_file(home.state / "setup.json").data or b"{}")
    except ValueError:
        return {}
    return {str(path): contents for path, contents in note.items() if isinstance(contents, dict)} if isinstance(note, dict) else {}


def _save_setup_note(home: Paths, noted: Mapping[str, Any]) -> None:
    place = home.state / "setup.json"
    files.write_if_unchanged(place, to_canonical_json(noted).encode(), expect=files.read_file(place).stamp, root=home.root)
