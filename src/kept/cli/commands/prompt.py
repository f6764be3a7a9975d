"""``kept prompt``: the extraction prompt, and the user's override of it."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kept.cli.command_support import command_home, is_interactive
from kept.cli.console import Line, diff_lines, format_path, line, write_json, write_line, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.core.errors import UsageError
from kept.extraction import prompt_override
from kept.extraction.prompt_override import ActivePrompt
from kept.extraction.questions.turns import estimate_tokens_high
from kept.paths import Paths
from kept.profiles.prompts import Prompt

_ACTIONS = ("show", "edit", "reset", "diff")
_EDITORS = ("VISUAL", "EDITOR")


def prompt(call: GlobalOptions, action: str = "show", *, whole: bool = False, as_json: bool = False) -> None:
    """Show the extraction prompt and where it comes from, write your own, go back to the built-in one, or see the difference.

    To add a category, begin your prompt with two lines of `---`, and between them `categories:` and, indented, a line such as
    `health: What concerns my health.` --profile NAME selects that profile's prompt. A changed prompt applies to text read later;
    `kept run --force` reads everything again.
    """
    home, profile = command_home(call), call.profile or ""
    match action:
        case "show" | "diff":
            pass
        case "edit":
            _edit_prompt(home, profile)
        case "reset":
            away = prompt_override.remove_own_prompt(home, profile)
            if not as_json:
                write_line(("Your prompt was moved to ", "green"), format_path(away))
        case other:
            raise UsageError(f"no action {other!r}", hint=f"one of: {', '.join(_ACTIONS)}")
    active_prompt = prompt_override.load_active_prompt(home, profile)
    if as_json:
        write_json(_prompt_body(active_prompt, difference=action == "diff"))
    elif action == "diff":
        lines = prompt_override.diff_prompt(active_prompt)
        write_lines(diff_lines(lines, indent="") if lines else [line("It is the built-in prompt.")])
    elif action == "show":
        write_lines(_format_prompt(active_prompt.prompt, active_prompt.prompt.system if whole else active_prompt.prompt.text))
    else:
        write_lines([origin_line(active_prompt.prompt)])


def _edit_prompt(home: Paths, profile: str) -> None:
    path = prompt_override.create_own_prompt(home, profile)
    editor = next((os.environ[editor] for editor in _EDITORS if os.environ.get(editor)), "")
    if not is_interactive() or not editor:
        write_line("Edit this file: ", str(path))
        return
    try:
        # Like git, this runs an editor that the user configured on a file of the user.
        subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603 - the editor is the user's setting
    except OSError as error:
        raise UsageError(
            f"the editor does not start: {error.strerror}", where=editor, hint=f"set EDITOR, or edit {path}"
        ) from error


def origin_line(prompt: Prompt) -> Line:
    """The prompt in use, on one line."""
    own = format_path(Path(prompt.origin)) if prompt.overridden else prompt.origin
    more = f", declares {', '.join(category.id for category in prompt.declared)}" if prompt.declared else ""
    what = ("Extraction prompt: yours, " if prompt.overridden else "Extraction prompt: ", "yellow" if prompt.overridden else "")
    return line(
        what,
        own,
        (
            f" (profile {prompt.profile}, version {prompt.version}, about {estimate_tokens_high(prompt.system):,} tokens{more})",
            "dim",
        ),
    )


def _format_prompt(prompt: Prompt, text: str) -> Iterator[Line]:
    yield origin_line(prompt)
    yield line()
    yield from (line(item) for item in text.splitlines())


def _prompt_body(active_prompt: ActivePrompt, *, difference: bool) -> dict[str, Any]:
    prompt = active_prompt.prompt
    body: dict[str, Any] = json_fields(prompt, "profile", "origin", "overridden", "version")
    body |= {
        "tokens": estimate_tokens_high(prompt.system),
        "declared": [category.id for category in prompt.declared],
        "own": str(active_prompt.own),
    }
    return body | (
        {"diff": list(prompt_override.diff_prompt(active_prompt))} if difference else {"text": prompt.text, "system": prompt.system}
    )
