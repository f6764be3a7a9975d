"""``kept check``, ``doctor``, ``rebuild``, ``backup``, ``restore``, ``migrate``, ``export``, ``import``, ``audit``."""

from difflib import unified_diff
from itertools import groupby
from pathlib import Path

from kept.changes import apply_person_change
from kept.cli.command_support import check_choice, command_home, command_workspace, confirm, is_interactive
from kept.cli.commands.edit import print_problems
from kept.cli.console import (
    diff_lines,
    format_count,
    format_path,
    hanging_line,
    json_text,
    line,
    write_json,
    write_line,
    write_lines,
    write_text,
)
from kept.cli.lists import FORGOTTEN, scope_name
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump, to_json
from kept.core.errors import UsageError
from kept.core.markup import fact_line, to_fact_text
from kept.core.memory import Memory
from kept.install.doctor import apply_repairs, plan_hook_repair, run_checks
from kept.local import files
from kept.memories.backups import create_backup
from kept.memories.browse import WORDS, MemoryFilter, filter_memories, to_export
from kept.outputs.write import FileState
from kept.paths import Paths
from kept.pipeline.importing import AuditFault, AuditFinding, import_from_tool, import_path
from kept.pipeline.importing import audit as audit_notes
from kept.pipeline.safety import (
    check_home,
    export_archive,
    move_to_file,
    move_to_server,
    prepare_server,
    rebuild_store,
    restore_store,
    write_export,
)
from kept.profiles.profile import category_title
from kept.workspace import Workspace, refuse_lost_store

_FORMATS = ("jsonl", "json", "md", "archive")

_MARKS = {True: ("well   ", "green"), False: ("wrong  ", "red"), None: ("note   ", "yellow")}


def check(call: GlobalOptions, *, as_json: bool = False) -> int:
    """Check the store, its indexes and the files that kept wrote for damage.

    Repairs nothing. Exits with 2 if it finds damage. A memory file that you edited does not count as damaged; the next run applies
    your edits.
    """
    home = command_home(call)
    if not home.store.exists():
        if not call.new_store:
            refuse_lost_store(home)
        hint = "`kept run` creates one, `kept restore FILE` restores a backup"
        raise UsageError("there is no store", where=str(home.store), hint=hint)
    with command_workspace(call) as workspace:
        check_report = check_home(workspace)
        if as_json:
            outputs = [{"path": path, "state": state.value, "reason": reason} for path, state, reason in check_report.outputs]
            write_json({"ok": not check_report.damage, "damage": list(check_report.damage), "outputs": outputs})
            return 2 if check_report.damage else 0
        write_lines(line(("damaged  ", "red"), item) for item in check_report.damage)
        notes = [(path, state) for path, state, _ in check_report.outputs if state in (FileState.EDITED, FileState.MISSING)]
        if not call.quiet:
            write_lines(line((f"{state.value}  ", "yellow"), format_path(path), " → kept run") for path, state in notes)
        if check_report.damage:
            hint = " → kept rebuild repairs everything derived from the log; kept restore FILE restores a backup"
            write_line((f"{format_count(len(check_report.damage), 'problem')} found", "bold red"), (hint, "dim"))
        elif not call.quiet:
            write_line(("All is well: ", "green"), "the log, the archive and the memories agree.")
        return 2 if check_report.damage else 0


def _confirm_hooks(home: Paths) -> bool:
    """Show how repairing the hooks would change each file. At a terminal, ask whether to write the files."""
    changes = plan_hook_repair(home)
    for change in changes:
        write_line((format_path(change.path), "bold"), ("  would change:", "dim"))
        now, then = files.read_text(change.path).splitlines(), change.text.splitlines()
        write_lines(diff_lines(list(unified_diff(now, then, lineterm="", n=1))[2:]))
    return not changes or not is_interactive() or confirm("Write this?")


def doctor(call: GlobalOptions, *, fix: bool = False, as_json: bool = False) -> int:
    """Test each part of the installation, and say how to fix each problem. Changes nothing without --fix.

    Exits with 1 if something is wrong. Each hook is called as your coding agent calls it. A language model that runs on this
    machine is asked one short question.
    """
    home = command_home(call)
    check_findings = run_checks(home, profile=call.profile, zone=call.zone)
    if fix:
        hooks = any(finding.repair == "hooks" for finding in check_findings)
        left_out = "hooks" if hooks and not as_json and not _confirm_hooks(home) else ""
        done = apply_repairs(home, [finding for finding in check_findings if finding.repair != left_out])
        check_findings = run_checks(home, profile=call.profile, zone=call.zone)
        left = {finding.repair for finding in check_findings}
        if not as_json:
            write_lines(
                line(("tried   ", "yellow") if name in left else ("mended  ", "green"), text) for name, text in done.items()
            )
    wrong = [finding for finding in check_findings if finding.ok is False]
    if as_json:
        write_json(
            [{"well" if name == "ok" else name: value for name, value in dump(finding).items()} for finding in check_findings]
        )
    else:
        width = max(len(finding.name) for finding in check_findings)
        write_lines(
            hanging_line(
                [_MARKS[finding.ok], (f"{finding.name:<{width}}  ", "cyan")],
                finding.detail,
                (f" → {finding.fix}" if finding.fix and finding.ok is not True else "", "dim"),
            )
            for finding in check_findings
        )
        write_line((f"{len(wrong)} wrong" if wrong else "Nothing is wrong.", "red" if wrong else "green"))
    return int(bool(wrong))


def backup(call: GlobalOptions, file: Path) -> None:
    """Copy everything kept knows into one verified file. Other commands may run meanwhile."""
    with command_workspace(call) as workspace:
        made = create_backup(workspace, file)
        if not call.quiet:
            size = f" ({made.stat().st_size / 1e6:.1f} MB; as private as your memories)"
            write_line(("Backed up and verified: ", "green"), format_path(made), (size, "dim"))


def restore(call: GlobalOptions, file: Path) -> int:
    """Replace the store with a backup. The current store is moved aside. Later hand edits stay."""
    done = restore_store(command_home(call), file, lambda: command_workspace(call))
    if not call.quiet:
        write_line(("Restored: ", "green"), format_path(file.absolute()))
        if done.old_store:
            write_line((f"The previous store is now at {format_path(done.old_store)}", "dim"))
        if done.unsure:
            text = "The restored store may contain words that you forgot after this backup was made"
            write_line((f"{text} → kept forget --words TEXT", "yellow"))
    return print_problems(done.written)


def rebuild(call: GlobalOptions) -> int:
    """Regenerate memories, index and files from the log."""
    with command_workspace(call) as workspace:
        written = rebuild_store(workspace)
        if not call.quiet:
            write_line(("Rebuilt: ", "green"), format_count(len(workspace.store.log.memories()), "memory"))
        return print_problems(written)


def migrate(call: GlobalOptions, *, to: str = "", prepare: str = "", drop: bool = False) -> None:
    """Move your memories to a PostgreSQL server that your other machines share, or back to this machine alone.

    Before the settings change, kept builds a store from the server's rows, checks it completely, and compares its export with that
    of the present store, byte for byte. A full copy stays on this machine, so that reading needs no network.
    """
    home, quiet = command_home(call), call.quiet
    if bool(to) == bool(prepare):
        raise UsageError("migrate needs --to or --prepare, not both", hint="kept migrate --to URL|sqlite, or --prepare URL")
    if prepare:
        prepare_server(prepare)
        lines = [line(("Prepared: ", "green"), "each role that may connect has its own rows there")]
    elif to == "sqlite":
        url = move_to_file(home, drop=drop)
        left = "which no longer holds them" if drop else "which still holds them (--drop erases them there)"
        lines = [
            line(("Moved and verified: ", "green"), f"your memories are now only in {format_path(home.store)}, no longer"),
            line(f"on {url}, {left}"),
        ]
    elif drop:
        raise UsageError("--drop erases your rows on a server after they were moved back", hint="kept migrate --to sqlite --drop")
    else:
        move_to_server(home, to)
        lines = [
            line(("Moved and verified: ", "green"), f"your memories are now on {to}, with a copy here for reading"),
            line(("On another machine: kept config set store.url URL, then kept run", "dim")),
        ]
    if not quiet:
        write_lines(lines)


def export(call: GlobalOptions, *, kind: str = "jsonl", output: Path | None = None) -> None:
    """Export memories of any status with their evidence. Forgotten words are not exported.

    `--format md` exports only active memories, for reading. `--format archive` exports the whole store, including the archived
    conversations, for `kept import` on another machine.
    """
    check_choice(kind, _FORMATS, "--format")
    with command_workspace(call) as workspace:
        if kind == "archive":
            if output is None:
                raise UsageError("an archive needs --output FILE", hint="kept export --format archive --output kept.jsonl.gz")
            rows = export_archive(workspace, output)
            write_line(("Wrote ", "green"), format_path(output.absolute()), (f" ({format_count(rows, 'row')})", "dim"))
            return
        which = MemoryFilter(everything=kind != "md")
        memories = tuple(
            memory
            for memory in filter_memories(workspace, workspace.store.log.memories(), which, workspace.clock())
            if memory.content
        )
        text = _export_text(workspace, memories, kind)
        if output is None:
            write_text(text)
        else:
            write_export(workspace, output, text)
            write_line(("Wrote ", "green"), format_path(output.absolute()), (f" ({format_count(len(memories), 'memory')})", "dim"))


def import_(call: GlobalOptions, file: Path | None = None, *, source: str = "", as_json: bool = False) -> int:
    """Import a file of `kept export`, or the memories of another tool.

    An archive needs an empty home, and brings all its history. Memories (jsonl) can be imported into any home; `kept undo` takes
    them back. They are held for `kept review`, except those whose quotes are in conversations that this home has read. Known
    memories, those that the file calls retired, and forgotten sentences are skipped.

    Other tools: memories of mem0 and ChatGPT, claude-mem's database, notes of Basic Memory, rules of Cursor and Copilot, AGENTS.md
    and other instructions; with `--from`, the tool's own memory. Everything from them is held for `kept review`. Their files do
    not change.
    """
    if (file is None) == (not source):
        raise UsageError("give a file, or a tool with --from", hint="kept import FILE, or kept import --from claude")
    with command_workspace(call) as workspace:
        done, written = apply_person_change(
            workspace, lambda: import_path(workspace, file) if file else import_from_tool(workspace, source)
        )
        if as_json:
            write_json({"whole": done.whole, "added": dict(done.added), "left_out": dict(done.left_out)})
        elif not call.quiet:
            counts = ", ".join(f"{count} {status}" for status, count in sorted(done.added.items())) or "nothing"
            write_line(("Imported: ", "green"), counts)
            write_lines(line((f"  left out, {reason}: {count}", "dim")) for reason, count in sorted(done.left_out.items()))
        return print_problems(written)


def _export_text(workspace: Workspace, memories: tuple[Memory, ...], kind: str) -> str:
    match kind:
        case "jsonl":
            return "".join(f"{json_text(to_export(workspace, memory), indent=None)}\n" for memory in memories)
        case "json":
            return f"{json_text([to_export(workspace, memory) for memory in memories])}\n"
        case _:
            return _export_markdown(workspace, memories)


def _export_markdown(workspace: Workspace, memories: tuple[Memory, ...]) -> str:
    names, above = workspace.scope_names(), ("", "")
    lines = ["# Memory"]
    for memory in memories:
        if memory.scope != above[0]:
            lines += ["", f"## {to_fact_text(scope_name(memory.scope, names))}"]
        title = category_title(workspace.profiles, memory.profile, memory.category)
        if (memory.scope, title) != above:
            lines += ["", f"### {title}", ""]
        above = (memory.scope, title)
        day = memory.last_seen.astimezone(workspace.zone).date() if memory.last_seen else None
        lines.append(fact_line(to_fact_text(memory.content or FORGOTTEN), day))
    return "\n".join(lines) + "\n"


def audit(call: GlobalOptions, path: Path, *, as_json: bool = False) -> int:
    """Find problems in a memory file or another tool's store: secrets, planted instructions, repeats, contradictions, outdated
    lines, and lines that no transcript supports. Changes nothing.

    Exits with 1 if it finds any.
    """
    with command_workspace(call) as workspace:
        audit_report = audit_notes(workspace, path)
    if as_json:
        write_json(to_json(audit_report))
        return 1 if audit_report.findings else 0
    write_line((f"{format_count(audit_report.notes, 'line')} in {format_path(str(path))}", "bold"))
    if audit_report.unread:
        write_line((f"{format_count(len(audit_report.unread), 'file')} cannot be read, such as {audit_report.unread[0]}", "yellow"))
    if not audit_report.findings:
        write_line(("Nothing is wrong with them.", "green"))
    for fault, group in groupby(
        sorted(audit_report.findings, key=lambda finding: list(AuditFault).index(finding.fault)), key=lambda finding: finding.fault
    ):
        _print_findings(fault, list(group))
    if not audit_report.compared:
        write_line(("No transcripts were read yet, so there was nothing to compare the lines with → kept run", "dim"))
    return 1 if audit_report.findings else 0


def _print_findings(fault: AuditFault, findings: list[AuditFinding]) -> None:
    write_line((f"{WORDS['faults'][fault]}: {len(findings)}", "yellow"))
    for finding in findings:
        write_line(f"  - {finding.text}")
        if finding.other:
            write_line((f"      {finding.other}", "dim"))
