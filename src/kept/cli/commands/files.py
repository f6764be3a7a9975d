"""``kept files``: list the files that kept writes, show one, and preview what the next write would change."""

from collections.abc import Iterator
from typing import Any

from kept.cli.command_support import command_workspace
from kept.cli.console import Line, diff_lines, format_count, hanging_line, line, write_answer
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.pipeline import edit_file
from kept.pipeline.edit_file import WritePreview


def files(call: GlobalOptions, action: str = "list", name: str = "", *, as_json: bool = False) -> None:
    """List the files that kept writes, show kept's part of one, or preview what the next run would change (your edits included).

    Edit the files in any editor. The next run applies what you change or delete, and holds lines that you add for your review.
    """
    with command_workspace(call) as workspace:
        match action:
            case "list":
                editable_files = edit_file.list_output_files(workspace)
                body: Any = [_file_body(editable_file, whole=False) for editable_file in editable_files]
                lines = [_file_line(editable_file) for editable_file in editable_files]
            case "show":
                file = edit_file.load_output_file(workspace, name)
                body = _file_body(file, whole=True)
                lines = [line(item) for item in file.text.splitlines()] or [line((file.problem or file.condition.value, "dim"))]
            case "preview":
                write_preview = edit_file.preview_write(workspace)
                body = json_fields(write_preview, "changes", "files", "problems")
                lines = list(_preview_lines(write_preview))
            case other:
                raise UsageError(f"no action {other!r}", hint="one of: list, show, preview")
    write_answer(lambda: body, lines or [line("kept writes no file here.")], as_json=as_json)


def _file_line(file: edit_file.EditableFile) -> Line:
    what = f"{file.form}, profile {', '.join(file.profiles)}" + (f", under “{file.heading}”" if file.heading else "")
    state = f", {file.problem or file.condition.value}" if file.condition is not edit_file.FileCondition.THERE else ""
    return hanging_line([("  ", "")], file.name, (f"  {what}{state}; {format_count(len(file.entries), 'memory')}", "dim"))


def _file_body(file: edit_file.EditableFile, *, whole: bool) -> dict[str, Any]:
    names = ("name", "path", "form", "heading", "profiles", "condition", "problem", "revision")
    return json_fields(file, *names, *(("text", "entries") if whole else ())) | {"memories": len(file.entries)}


def _preview_lines(seen: WritePreview) -> Iterator[Line]:
    for change in seen.changes:
        was = (f"  (was: {change.before})", "dim") if change.before and change.before != change.after else ("", "")
        yield hanging_line(
            [(f"  {change.kind:<10}", "yellow"), (change.memory, "yellow"), ("  ", "")], change.after or change.before, was
        )
    for name, lines in seen.files.items():
        yield line((name, "bold"))
        yield from diff_lines(lines[2:])
        if not lines:
            yield line(("  only kept's own comments", "dim"))
    for problem in seen.problems:
        yield line((problem, "red"))
    if not seen.changes and not seen.files:
        yield line("Nothing would change.")
