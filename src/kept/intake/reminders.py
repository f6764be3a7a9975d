"""Remind a session's agent to hand over the person's words, and record the cost.

Hooks wait for this module, so it imports next to nothing. Each session has a small state file in kept's queue folder. Another file
there records the costs for ``kept status``.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cache

from kept.core.fence import ASK, OPEN, OPT_OUT, REMINDER, START, estimate_token_count, fence_text
from kept.core.light import TYPE_CHECKING, Any, NamedTuple, format_json
from kept.local import queue
from kept.local.queue import queue_path, session_file_name

if TYPE_CHECKING:
    import re

OFF, REMIND, ASKING = "off", "remind", "ask"  # values of the setting `handover`
_TURN_SUFFIX, _OPEN_SUFFIX = ".turns", ".open"
_SHARE = 0.01  # maximum share of the session's tokens so far that reminders may take up
_CLIENT_TOKENS = 12_000  # minimum tokens of a client's own instructions and tools, which are not in the transcript
_BYTES_PER_TOKEN = 12  # bytes of a transcript per token; high, because most of a record is not shown to the model
_MOST_BYTES = 200_000_000  # a larger transcript is not searched for the words that opt out
_TAIL_BYTES = 1_000_000  # bytes at the end of a transcript that are searched for a hand-over
_FILE_BYTES = 64_000  # maximum size of a state file
_INTERACTIVE = ("cli", "claude-vscode", "claude-desktop")
_OPTED_OUT = b"kept:"
_GENERATIONS = 12  # ancestors of a process that are examined


# ``re`` is imported, and patterns are compiled, only if a text may match. That is rare.
@cache
def _call_pattern() -> "re.Pattern[bytes]":
    """Compile a pattern that matches a hand-over call in a transcript."""
    import re  # noqa: PLC0415 - as above

    return re.compile(
        rb'"name"\s*:\s*"(?:[^"\\]{0,80}[_./])?kept(?:__?|[./])(?:save_what_user_said|suggest)"'
        rb'|"(?:command|cmd)"\s*:\s*"(?:[^"\\]|\\.){0,200}?\bkept suggest '
    )


@cache
def _client_pattern() -> "re.Pattern[str]":
    """Compile a pattern that matches the command line of a client."""
    import re  # noqa: PLC0415 - as above

    return re.compile(r"(?:^|[/\0])claude(?:[\0/. ]|$)")


@cache
def _printing_client_pattern() -> "re.Pattern[str]":
    """Compile a pattern that matches the command line of a client which only prints an answer for another program."""
    import re  # noqa: PLC0415 - as above

    return re.compile(r"\0(?:-p|--print)(?:[\0=]|$)")


@cache
def _opt_out_pattern() -> "re.Pattern[bytes]":
    """Compile a pattern that matches an opt-out in a transcript: the phrase on a line of its own in a JSON string, or Claude Code's
    form of a command. Each match contains :data:`_OPTED_OUT`.
    """
    import re  # noqa: PLC0415 - as above

    phrases = b"|".join(re.escape(words.encode()) for words in OPT_OUT)
    return re.compile(rb'(?i)(?:"|\\n)\s*(?:' + phrases + rb')[.!]*\s*(?:"|\\n)|<command-name>\s*/?kept:off\s*</command-name>')


class ReminderState(NamedTuple):
    """The state of a session: the tokens of its reminders so far, the transcript's size at the start of the turn, and whether the
    agent was reminded in this turn.
    """

    spent: int = 0
    began: int = 0
    reminded: bool = False


def start_reminder(state: str, session: str, source: str) -> str:
    """Return the text for the start of a session. After a compaction it includes the open prompts. Empty for a resumed session."""
    if source in ("resume", "fork"):
        return ""
    lines = [fence_text(START)]
    if source == "compact":
        left = queue.read_lines(_path(state, session, _OPEN_SUFFIX))
        if left:
            lines.append(fence_text("\n".join([OPEN, *(f"- {line}" for line in left)])))
    queue.delete_if_present(_path(state, session, _OPEN_SUFFIX))
    if source != "compact":
        queue.delete_if_present(_path(state, session, _TURN_SUFFIX))
    queue.delete_old_files(queue_path(state, ""), _TURN_SUFFIX)
    queue.delete_old_files(queue_path(state, ""), _OPEN_SUFFIX)
    return _count_cost(state, "start", "\n".join(lines))


def prompt_reminder(state: str, session: str, transcript: str) -> str:
    """Return the reminder for a prompt with a trigger. Empty if the session's share is used up, or if the agent has already handed
    something over in this turn.
    """
    turn, size, text = _load_reminder_state(state, session), _file_size(transcript), fence_text(REMINDER)
    cost = estimate_token_count(text)
    if turn.spent + cost > _SHARE * (_CLIENT_TOKENS + size / _BYTES_PER_TOKEN) or _has_handed_over(transcript, turn.began, size):
        return ""
    _save_reminder_state(state, session, ReminderState(turn.spent + cost, turn.began, reminded=True))
    return _count_cost(state, "reminder", text)


def stop_question(state: str, session: str, payload: Mapping[str, Any], env: Mapping[str, str], *, asking: bool) -> str:
    """Return the question at the end of a turn if the agent was reminded but handed nothing over. Else record the end of the turn
    in the state and return an empty text. The question is asked once per turn, and only in a session that a person uses.
    """
    if not session:
        return ""
    transcript = str(payload.get("transcript_path") or "")
    turn, size = _load_reminder_state(state, session), _file_size(transcript)
    last = str(payload.get("last_assistant_message") or "")
    unanswered = turn.reminded and 'kept: "' not in last[-4_000:] and not _has_handed_over(transcript, turn.began, size)
    question = fence_text(ASK)
    cost = estimate_token_count(question)
    affordable = turn.spent + cost <= _SHARE * (_CLIENT_TOKENS + size / _BYTES_PER_TOKEN)
    ask = asking and unanswered and affordable and payload.get("stop_hook_active") is False and is_interactive(env)
    _save_reminder_state(state, session, ReminderState(turn.spent + cost * ask, turn.began if ask else size, reminded=False))
    return _count_cost(state, "question", question) if ask else ""


def is_off_the_record(transcript: str, prompt: str) -> bool:
    """True if the session or its present prompt may be opted out. Tool output does not count.

    Returns True in doubt, because that only omits a reminder. Which words are stored is decided later from the transcript.
    """
    raw = format_json(prompt).encode()
    if _OPTED_OUT in raw.lower() and _opt_out_pattern().search(raw):
        return True
    if not 0 < _file_size(transcript) <= _MOST_BYTES:
        return _file_size(transcript) > 0
    try:
        with open(transcript, "rb") as file:  # noqa: PTH123 - as in local/queue.py
            # search all bytes first, because hardly any session contains these words, and matching each line takes ten times as
            # long
            content = file.read().lower()
            if not any(words.strip("/").encode() in content for words in OPT_OUT):
                return False
            file.seek(0)
            return any(_opt_out_pattern().search(line) and b'"tool_result"' not in line for line in file)
    except (OSError, ValueError):
        return False


def is_interactive(env: Mapping[str, str]) -> bool:
    """True if a person uses the session: the client says so, and was not started by another client or only to print an answer.

    Returns False in doubt, because an answer that is printed for a program must not be delayed.
    """
    if env.get("CLAUDE_CODE_ENTRYPOINT") not in _INTERACTIVE:
        return False
    clients = [line for line in _ancestor_commands(os.getppid()) if _client_pattern().search(line)]
    return len(clients) < 2 and not any(_printing_client_pattern().search(line) for line in clients)


def _ancestor_commands(process: int) -> Iterable[str]:
    """Yield the command lines of a process and its ancestors, if the system has them in /proc."""
    for _ in range(_GENERATIONS):
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as in local/queue.py
                yield file.read(4_096)
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as in local/queue.py
                process = int(file.read(4_096).rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if process < 2:
            return


def save_open_prompts(state: str, session: str, lines: Iterable[str]) -> None:
    """Save a session's open prompts before its conversation is compacted. Replaces those saved earlier. Raises OSError."""
    path = _path(state, session, _OPEN_SUFFIX)
    queue.delete_if_present(path)
    for line in lines:
        queue.append_line(path, line, _FILE_BYTES)


def load_reminder_costs(state: str) -> dict[str, tuple[int, int]]:
    """The number and tokens of the recorded reminders, by kind."""
    return _sum_tokens(queue_path(state, "handover"))


def _sum_tokens(path: str) -> dict[str, tuple[int, int]]:
    totals: dict[str, tuple[int, int]] = {}
    for line in queue.read_lines(path):
        kind, _, tokens = line.partition(" ")
        if tokens.isdigit():
            times, spent = totals.get(kind, (0, 0))
            totals[kind] = (times + 1, spent + int(tokens))
    return totals


def load_added_tokens(state: str) -> dict[str, tuple[int, int]]:
    """Map each day (UTC, in order) to the number of texts that hooks added to sessions and prompts, and their tokens."""
    return _sum_tokens(queue_path(state, "put"))


def _count_cost(state: str, kind: str, text: str) -> str:
    queue.append_bounded(queue_path(state, "handover"), f"{kind} {estimate_token_count(text)}", _FILE_BYTES)
    return text


def _load_reminder_state(state: str, session: str) -> ReminderState:
    for line in queue.read_lines(_path(state, session, _TURN_SUFFIX))[-1:]:
        words = line.split()
        if len(words) == 3 and all(word.isdigit() for word in words):
            return ReminderState(int(words[0]), int(words[1]), words[2] == "1")
    return ReminderState()


def _save_reminder_state(state: str, session: str, turn: ReminderState) -> None:
    path = _path(state, session, _TURN_SUFFIX)
    queue.delete_if_present(path)
    queue.append_line(path, f"{turn.spent} {turn.began} {int(turn.reminded)}", _FILE_BYTES)


def _has_handed_over(transcript: str, began: int, size: int) -> bool:
    """True if the agent handed something over after byte ``began`` of the transcript, where the turn began."""
    if size <= began:
        return False
    try:
        with open(transcript, "rb") as file:  # noqa: PTH123 - as in local/queue.py
            file.seek(max(began, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
            return b"kept" in tail and _call_pattern().search(tail) is not None
    except OSError:
        return False


def _file_size(path: str) -> int:
    """The size of a file. 0 if there is none, or if it is a pipe or device, because reading these may never end."""
    try:
        return os.path.getsize(path) if os.path.isfile(path) else 0  # noqa: PTH113, PTH202 - as in local/queue.py
    except OSError:
        return 0


def _path(state: str, session: str, ending: str) -> str:
    return queue_path(state, session_file_name(session) + ending)
