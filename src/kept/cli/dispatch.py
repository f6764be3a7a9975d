"""Run a command: arguments in, exit code out. The error of any command becomes one line and an exit code here.

Only the module of the command is imported.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from kept import __version__
from kept.cli.parsers import create_parser, full_overview_text, overview_text
from kept.cli.registry import COMMANDS, Command, GlobalOptions, refuse_agents, split_global_options
from kept.core.errors import KeptError, UsageError

_INTERRUPTED = 130


def main(words: Sequence[str]) -> NoReturn:
    """Run a command and exit. The code is 0 (done, or another run does the work), 1 (partly done, or something to report), 2
    (nothing done) or 130 (interrupted).
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # tests and host programs may replace the streams with objects that lack this method
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except KeptError as error:
        code = _report_error(error.exit_code, str(error), error, words)
    except KeyboardInterrupt:
        code = _report_error(_INTERRUPTED, "stopped; nothing is lost, the next run continues")
    except BrokenPipeError:
        _silence_output()  # the program that reads our output has closed the pipe
        code = 0
    except UnicodeEncodeError as error:
        if all(_is_utf8(word) for word in words):
            code = _report_unexpected(error, words)
        else:
            code = _report_error(
                2, "an argument is not valid UTF-8; nothing was changed → type it in a terminal whose locale is UTF-8"
            )
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        hint = f" → {advice}" if error.errno and (advice := _advise(error)) else ""
        message = f"the system said: {error.strerror or type(error).__name__}{place}{hint}"
        code = _report_error(2, _log_unexpected_error(message, error, words), error, words)
    except Exception as error:  # noqa: BLE001 - the last handler: without --verbose no traceback or transcript text may be printed
        code = _report_unexpected(error, words)
    sys.exit(code)


def _advise(error: OSError) -> str:
    from kept.local.files.walking import describe_os_error  # noqa: PLC0415 - only after an error

    return describe_os_error(error)[1]


def _is_utf8(word: str) -> bool:
    """False for an argument in another encoding, which the interpreter decoded with lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in word)


def _dispatch(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--complete"]:
        from kept.cli.commands.completion import complete_words  # noqa: PLC0415 - only shell completion needs it

        sys.stdout.writelines(
            f"{name}\t{meaning}\n" for name, meaning in complete_words([argument.strip('"') for argument in arguments[1:]])
        )
        return 0
    call, rest = split_global_options(arguments)
    if call.version or rest[:1] == ["version"]:
        sys.stdout.write(f"kept {__version__}\n")
        return 0
    match rest:
        case [] | ["--help" | "-h" | "help"]:
            sys.stdout.write(f"{overview_text()}\n")
            return 0
        case ["help", "all"]:
            sys.stdout.write(f"{full_overview_text()}\n")
            return 0
        case ["help", name, *_]:
            return _run_command(name, ["--help"], call)
        case [name, *others]:
            return _run_command(name, others, call)
    raise AssertionError(rest)


def _run_command(name: str, arguments: list[str], call: GlobalOptions) -> int:
    if name.startswith("-"):
        raise UsageError(f"no option {name}", hint="see `kept --help`")
    if name not in COMMANDS:
        import difflib  # noqa: PLC0415 - only a mistyped command needs it

        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise UsageError(f"no command {name!r}", hint=f"did you mean `kept {near[0]}`?" if near else "see `kept --help`")
    refuse_agents(name, arguments, os.environ)
    return _invoke_command(COMMANDS[name], arguments, call)


def _invoke_command(command: Command, arguments: list[str], call: GlobalOptions) -> int:
    import typer  # noqa: PLC0415 - `kept --help`, `--version` and a mistyped command do without

    name = f"kept {command.name}"
    try:
        made = create_parser(command)
        # Its main() is not used, because that handles interrupts, broken pipes and exit codes in its own way.
        with made.make_context(name, arguments, obj=call) as context:
            code = made.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except Exception as error:
        # Versions of Typer raise usage errors of different classes, but all have format_message.
        if not hasattr(error, "format_message"):
            raise
        what = " ".join(str(error.format_message()).split()).rstrip(".")
        raise UsageError(what[:1].lower() + what[1:], hint=f"see `kept {command.name} --help`") from error
    return int(code or 0)


def _report_error(code: int, message: str, error: Exception | None = None, words: Sequence[str] = ()) -> int:
    from kept.cli.console import write_line  # noqa: PLC0415 - only for errors

    try:
        sys.stdout.flush()
    except OSError:
        _silence_output()
    with suppress(OSError):
        if error is not None and {"--verbose", "-v"} & set(words):
            import traceback  # noqa: PLC0415 - only for errors

            sys.stderr.write("".join(traceback.format_exception(error)))
        write_line(f"kept: {message}", stream=sys.stderr)
    return code


def _report_unexpected(error: Exception, words: Sequence[str]) -> int:
    from kept.local.error_log import error_line  # noqa: PLC0415 - only for errors

    return _report_error(2, _log_unexpected_error(f"{error_line(error)} → report this line", error, words), error, words)


def _silence_output() -> None:
    """Redirect stdout to the null device, because the interpreter flushes it once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_unexpected_error(message: str, error: Exception, words: Sequence[str]) -> str:
    """Log an unexpected error below the state folder. Returns the message with the path of the logged traceback."""
    from kept.local.error_log import log_error  # noqa: PLC0415 - only for errors
    from kept.paths import find_paths  # noqa: PLC0415

    log = None
    with suppress(KeptError):
        call, rest = split_global_options(words)
        name = rest[0] if rest and rest[0] in COMMANDS else "help"
        log = log_error(find_paths(call.home, os.environ).state, f"kept {name}", error)
    return f"{message}; " + (f"the trace is in {log}" if log else "--verbose shows more (read it before you share it)")
