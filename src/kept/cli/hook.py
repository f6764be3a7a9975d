"""``kept hook EVENT``: answer the hooks of coding agents, for example before a prompt (:data:`EVENTS` lists the events).

It reads the client's payload from stdin and answers in the client's format. An error never stops a session: the exit code is 0, and
the error is a line in kept's own log. Hooks never call a language model. If kept itself started the agent (the guard variable is
set), the hook does nothing. A module that takes long to import is imported only by the event that needs it.
"""

import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache, partial

from kept.core.errors import StoreError
from kept.core.fence import FACTS, FIXES, GUARD, Context, render_block
from kept.core.light import TYPE_CHECKING, Any, format_json, parse_json
from kept.intake.triggers import has_trigger
from kept.local import queue
from kept.recall.context import NOTHING, TurnLookup, assemble_context, failure_marks, utc_now
from kept.recall.nearby import ContextRequest, NearnessLookup, RecallEnvironment
from kept.recall.relevance import parse_weights

if TYPE_CHECKING:
    from datetime import tzinfo

_MOST = 8_000_000  # maximum size of a payload in bytes
_SECONDS = 0.15  # seconds for reading the store before a prompt
_WARM = 0.15  # seconds to wait for the answer of the embedding server
_BEGUN = "begun"  # stored with the keys of shown memories after the session's first prompt
_AFTER = "after:"  # prefix of the key of a fix that was shown after a failed command
_CHARS = 9_500  # clients cut injected text at 10,000 characters
_TOKENS = 1_200
_AT_START = 2  # factor of the token budget at the start of a session, when the memories of the project are shown once
_FLUSHED = 8_000_000  # maximum bytes of new transcript to read while the client waits


def answer_event(words: list[str]) -> int:
    """Answer an event, given by its name and options. Always returns 0."""
    if os.environ.get(GUARD):
        return 0
    root = _find_home(words)
    event = words[0]
    if queue.is_state_outside_home(root):
        sys.stderr.write("kept: its own folder cannot be read, or is a link to a place outside the home; nothing was done\n")
        return 0
    try:
        payload = _parse_payload(sys.stdin.buffer.read(_MOST + 1))
        if isinstance(payload, str):
            _log_problem(root, event, payload)
        elif event in EVENTS:
            client, plugin = _detect_client(words, payload), "--plugin" in words
            if not plugin or not _is_hooked_by_settings(client, event):
                sys.stdout.write((_PLUGIN_EVENTS if plugin else EVENTS)[event](root, payload, client))
                sys.stdout.flush()
        else:
            _log_problem(root, event, f"there is no such event; events: {', '.join(EVENTS)}")
    except Exception as error:  # noqa: BLE001 - an agent's session must not fail because of its memory
        _log_problem(root, event, f"{type(error).__name__}: {error}")
    return 0


def _find_home(words: list[str]) -> str:
    given = words[words.index("--home") + 1] if "--home" in words[:-1] else ""
    return os.path.expanduser(given or os.environ.get("KEPT_HOME") or os.environ.get("HOME") or "")  # noqa: PTH111 - as in local/queue.py


def _detect_client(words: list[str], payload: Mapping[str, Any]) -> str:
    """The client that calls: the value of ``--client``, else detected from the payload."""
    if "--client" in words[:-1]:
        return words[words.index("--client") + 1]
    path = _payload_text(payload, "transcript_path")
    return "codex" if "turn_id" in payload or f"{os.sep}.codex{os.sep}" in path or (not path and "model" in payload) else "claude"


def _is_hooked_by_settings(client: str, event: str) -> bool:
    """True if the client's own settings also call kept for this event. The plugin's hook then does nothing."""
    name, variable, file = _SETTINGS.get(client, ("", "", ""))
    try:
        folder = os.environ.get(variable) or os.environ.get("HOME", "") + name
        with open(f"{folder}/{file}", encoding="utf-8") as settings:  # noqa: PTH123 - as in local/queue.py
            called = _find_hook_command(settings.read(_MOST), event)
    except (OSError, ValueError):
        return False
    program = called.partition(" -m kept")[0].partition(" --home")[0].replace("'", "")
    return bool(program) and (not program.startswith("/") or os.path.isfile(program))  # noqa: PTH113 - as in local/queue.py


def _find_hook_command(settings: str, event: str) -> str:
    """The text before ``hook EVENT`` in the first string of a client's settings that calls kept for this event; else empty."""
    for line in settings.split("\n") if f" hook {event}" in settings else ():
        for text in line.split('"')[1:]:
            called, _, rest = text.rpartition(f" hook {event}")
            if "kept" in called and not (rest[:1].isalnum() or rest[:1] == "_"):
                return called
    return ""


_SETTINGS = {"claude": ("/.claude", "CLAUDE_CONFIG_DIR", "settings.json"), "codex": ("/.codex", "CODEX_HOME", "hooks.json")}


def _parse_payload(raw: bytes) -> dict[str, Any] | str:
    if len(raw) > _MOST:
        return f"the payload has more than {_MOST:,} bytes"
    try:
        body = parse_json(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        return f"the payload is not JSON: {error}"
    return body if isinstance(body, dict) else "the payload is not a JSON object"


def _payload_text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def _has_store(state: str) -> bool:
    return os.path.isfile(os.path.join(state, "kept.db"))  # noqa: PTH113, PTH118 - as in local/queue.py


def _without_secrets(text: str) -> str:
    """The text, or a note in its place if it contains a secret, for example in the name of a file."""
    from kept.core.redact import redact  # noqa: PLC0415 - costs much to load, and few hooks have a problem

    return "(left out: it contains a secret)" if redact(text, key=b"any").found else text


def _log_problem(root: str, event: str, what: str) -> None:
    try:
        if root and os.path.isdir(queue.state_folder(root)):  # noqa: PTH112 - as in local/queue.py
            queue.log_hook_problem(
                queue.state_folder(root), _format_now(), _without_secrets(event)[:40], _without_secrets(what)[:400]
            )
    except OSError:
        return  # an error in logging the error is ignored


def _format_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# --- context for the session ---------------------------------------------------------------------------------------------------


def _session_start(root: str, payload: Mapping[str, Any], client: str) -> str:
    """The context for the start of a session. After a resume, the conversation still contains what was shown before; after a
    compaction it does not.
    """
    session = _payload_text(payload, "session_id")
    state = queue.state_folder(root)
    if _payload_text(payload, "source") not in ("resume", "fork") and session:
        queue.reset_shown(state, session)
    failed = queue.claim_unreported_failures(state)
    from kept.intake.reminders import start_reminder  # noqa: PLC0415 - most prompts need none

    reminder = _handover_notice(root, payload, lambda: start_reminder(state, session, _payload_text(payload, "source")))
    return _inject_context(
        root, payload, client, "SessionStart", message="", first=queue.render_failures(failed) if failed else "", reminder=reminder
    )


def _plugin_start(root: str, payload: Mapping[str, Any], client: str) -> str:
    """The context for the start of a session with the plugin. The plugin has no scheduled job, so this starts the first run or a
    missed nightly run, and announces the first run.
    """
    from kept.install.background_run import start_missed_run  # noqa: PLC0415 - not needed for prompts

    begun = start_missed_run(root)
    name = _payload_text(payload, "hook_event_name") if client == "gemini" else "SessionStart"
    return _session_start(root, payload, client) or (_format_output(name, render_block((), begun)) if begun else "")


def _user_prompt(root: str, payload: Mapping[str, Any], client: str) -> str:
    if "prompt" not in payload:
        _log_problem(root, "user-prompt", f"the payload has no prompt; it has {', '.join(sorted(payload))[:200]}")
        return ""
    state, message = queue.state_folder(root), _payload_text(payload, "prompt")
    session, transcript = _payload_text(payload, "session_id"), _payload_text(payload, "transcript_path")
    reminder = ""
    if session and has_trigger(message):
        from kept.intake.reminders import prompt_reminder  # noqa: PLC0415 - most prompts need none

        reminder = _handover_notice(root, payload, lambda: prompt_reminder(state, session, transcript))
    return _inject_context(root, payload, client, "UserPromptSubmit", message=message, reminder=reminder)


def _subagent_start(root: str, payload: Mapping[str, Any], client: str) -> str:
    """The context for the start of a subagent. It is not recorded as shown, because the session itself does not see it."""
    return _inject_context(root, {**payload, "session_id": ""}, client, "SubagentStart", message="")


def _tool_failure(root: str, payload: Mapping[str, Any], _: str) -> str:
    """After a failed command, add the fix that helped before, once per session. Some clients call this after every command."""
    state, session = queue.state_folder(root), _payload_text(payload, "session_id")
    marks = () if payload.get("is_interrupt") is True else failure_marks(_tool_output(payload))
    if not marks or not _has_store(state):
        return ""
    keys = queue.load_shown(state, session) if session else None
    shown = frozenset(key.removeprefix(_AFTER) for key in keys or () if key.startswith(_AFTER))
    settings, directory = _load_settings(root), _payload_text(payload, "cwd")
    # A fix is shown when it is needed, even if it is in a file that the session has read.
    request = ContextRequest(
        directory=directory,
        session=session,
        marks=marks,
        budget=_token_budget(settings),
        core=False,
        days=False,
        already_shown=shown,
        client="none",
    )
    context = assemble_context(_make_environment(root, settings), request, now=utc_now())
    if not context.pieces:
        return ""
    if session:
        queue.save_shown(state, session, [_AFTER + piece.key for piece in context.pieces])
    queue.log_used_memories(state, [piece.key for piece in context.pieces])
    return _format_output(_payload_text(payload, "hook_event_name"), render_block(context.pieces))


def _tool_output(payload: Mapping[str, Any]) -> str:
    """The output of a command: the field ``error`` of Claude Code, the response of Codex, or the joined parts of Gemini."""
    response = payload.get("tool_response")
    parts = [response, *(response.get(name) for name in ("llmContent", "error"))] if isinstance(response, dict) else [response]
    parts += [part.get("message") for part in parts if isinstance(part, dict)]
    return "\n".join(item for item in (payload.get("error"), *parts) if isinstance(item, str))


def _handover_notice(root: str, payload: Mapping[str, Any], make_notice: Callable[[], str]) -> str:
    """The result of ``make_notice``, which asks the agent to hand over the person's words. Empty if the settings turn that off, the
    session is off the record, kept never ran, or the notice cannot be recorded.
    """
    if not _has_store(queue.state_folder(root)):
        return ""
    from kept.intake.reminders import OFF, is_off_the_record  # noqa: PLC0415 - most prompts need none

    try:
        notice = "" if _load_settings(root).handover == OFF else make_notice()
    except (OSError, ValueError) as error:
        _log_problem(root, "handover", str(error))
        return ""
    off = notice and is_off_the_record(_payload_text(payload, "transcript_path"), _payload_text(payload, "prompt"))
    return "" if off else notice


def _inject_context(
    root: str, payload: Mapping[str, Any], client: str, name: str, *, message: str, first: str = "", reminder: str = ""
) -> str:
    state, session = queue.state_folder(root), _payload_text(payload, "session_id")
    name = _payload_text(payload, "hook_event_name") if client == "gemini" else name
    if not _has_store(state):
        return _format_output(name, render_block((), first)) if first else ""
    try:
        context = _find_context(root, payload, client, message)
    except (StoreError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:  # the settings may be invalid
        _log_problem(root, name, f"nothing was recalled: {error}")
        context = NOTHING
    if session and context is not NOTHING:
        _record_shown(state, session, context, begun=bool(message))
    text = "\n".join(filter(None, (render_block(context.pieces, first), reminder)))
    if not text:
        return ""
    _count_added_text(state, text)
    return _format_output(name, text)


def _count_added_text(state: str, text: str) -> None:
    try:
        queue.record_added_text(state, _format_now()[:10], text)
    except OSError:
        return  # a failed count must not disturb the session


def _find_context(root: str, payload: Mapping[str, Any], client: str, message: str) -> Context:
    state, session = queue.state_folder(root), _payload_text(payload, "session_id")
    settings = _load_settings(root)
    shown = queue.load_shown(state, session) if session else None
    # Recent work is shown with the first prompt, which it must match, and not at the start of the session.
    first = bool(message) and (shown is None or _BEGUN not in shown)
    request = ContextRequest(
        message=message,
        directory=_payload_text(payload, "cwd"),
        session=session,
        marks=failure_marks(message),
        budget=_token_budget(settings, 1 if message else _AT_START),
        core=not message or shown is None,
        whole=not message,
        days=first,
        already_shown=shown or frozenset(),
        client=client,
    )
    nearest, turns = _find_by_meaning(state, settings, message, session)
    return assemble_context(_make_environment(root, settings), request, now=utc_now(), nearest=nearest, said=turns)


def _token_budget(settings: "_Settings", times: int = 1) -> int:
    return min(times * settings.tokens, _CHARS // 3)


def _make_environment(root: str, settings: "_Settings") -> RecallEnvironment:
    return RecallEnvironment(
        store=f"{queue.state_folder(root)}/kept.db",
        user=os.environ.get("HOME") or root,
        profiles=settings.profiles,
        zone=settings.zone,
        seconds=_SECONDS,
        weights=parse_weights(settings.recall),
    )


def _find_by_meaning(
    state: str, settings: "_Settings", message: str, session: str
) -> tuple[NearnessLookup | None, TurnLookup | None]:
    """Start looking up facts and turns by meaning, in the embedding server or, if the settings say so, in this process."""
    # Uses no pathlib, which takes long to import (see local/queue.py).
    if not message or settings.recall.get("embeddings") == "off" or not os.path.isfile(f"{state}/vectors.bin"):  # noqa: PTH113
        return None, None
    if os.path.exists(f"{state}/warm.sock"):  # noqa: PTH110 - as in local/queue.py
        from kept.recall.embed_server import ask_for_memories, ask_for_turns  # noqa: PLC0415 - only if a server may answer

        return ask_for_memories(state, message, _WARM), ask_for_turns(state, message, session, _WARM)
    if not settings.meaning:
        return None, None
    from kept.recall.embed_server.query import make_query_context, memories_in_process, parse_recall_settings, turns_in_process  # noqa: PLC0415

    place = make_query_context(state, parse_recall_settings(settings.recall), os.environ)
    return memories_in_process(place, message), turns_in_process(place, message, session)


def _record_shown(state: str, session: str, context: Context, *, begun: bool) -> None:
    """Record memories as shown, so that they are not shown again. Facts and fixes also count as used, unlike memories that are
    always shown.
    """
    queue.save_shown(state, session, [*([_BEGUN] if begun else []), *(piece.key for piece in context.pieces)])
    queue.log_used_memories(state, [piece.key for piece in context.pieces if piece.layer in (FACTS, FIXES)])


def _format_output(event: str, text: str) -> str:
    return format_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}) + "\n"


class _Settings:
    """The settings that hooks use."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        uses = [item.get("profile") for item in body.get("use", ())]
        self.profiles = tuple(dict.fromkeys(map(str, (body.get("profile", "coding"), *body.get("profiles", ()), *uses))))
        tokens = body.get("context_tokens", _TOKENS)
        self.tokens = tokens if isinstance(tokens, int) else _TOKENS
        self.meaning = body.get("context_meaning", False) is True
        recall = body.get("recall", {})
        self.recall: dict[str, Any] = recall if isinstance(recall, dict) else {}
        self.at_end = str(body.get("at_session_end", ""))
        self.handover = str(body.get("handover", ""))
        self.zone = _load_zone(str(body.get("timezone", "")))


@cache
def _load_settings(root: str) -> _Settings:
    path = os.path.join(root, ".config", "kept", "config.toml")  # noqa: PTH118 - as in local/queue.py
    if not os.path.isfile(path):  # noqa: PTH113 - as in local/queue.py
        return _Settings({})
    import tomllib  # noqa: PLC0415 - most people have no settings file

    with open(path, "rb") as file:  # noqa: PTH123 - as in local/queue.py
        return _Settings(tomllib.loads(file.read().decode("utf-8-sig")))


def _load_zone(name: str) -> "tzinfo | None":
    if not name:
        return None
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only if a zone is set

    return ZoneInfo(name)


# --- work for the next run -----------------------------------------------------------------------------------------------------


def _stop(root: str, payload: Mapping[str, Any], client: str) -> str:
    """After an answer, queue the transcript for the next run. If the settings say so, ask once about an open reminder."""
    _enqueue_session(root, payload)
    from kept.intake.reminders import ASKING, stop_question  # noqa: PLC0415 - prompts have no such question

    asking = client == "claude" and _load_settings(root).handover == ASKING
    state, session = queue.state_folder(root), _payload_text(payload, "session_id")
    question = _handover_notice(root, payload, lambda: stop_question(state, session, payload, os.environ, asking=asking))
    return format_json({"decision": "block", "reason": question}) + "\n" if question else ""


def _pre_compact(root: str, payload: Mapping[str, Any], _: str) -> str:
    """Before a compaction, archive the new part of the transcript, because the next run may come too late."""
    _enqueue_session(root, payload)
    path, state = _payload_text(payload, "transcript_path"), queue.state_folder(root)
    if path and _has_store(state):
        from kept.pipeline.flush import archive_transcript  # noqa: PLC0415 - only this hook reads a transcript

        problem = archive_transcript(root, path, most=_FLUSHED, session=_payload_text(payload, "session_id"))
        if problem:
            _log_problem(root, "pre-compact", problem)
    return ""


def _session_end(root: str, payload: Mapping[str, Any], _: str, usual: str = "queue") -> str:
    """At the end of a session, queue the transcript. If settings and profile say so, start a background run for this transcript."""
    _enqueue_session(root, payload)
    path = _payload_text(payload, "transcript_path")
    settings = _load_settings(root)
    if path and (settings.at_end or usual) == "run":
        from kept.install.background_run import has_session_end_profile, start_run  # noqa: PLC0415 - only if the settings say so

        if has_session_end_profile(root, settings.profiles):
            start_run(root, path)
    return ""


def _allow_suggestion(root: str, payload: Mapping[str, Any], _: str) -> str:
    """Allow the plugin's tool that hands over the person's words. The client decides about every other tool."""
    from kept.core.fence import is_suggestion_tool  # noqa: PLC0415 - only this hook needs it

    allowed = is_suggestion_tool(_payload_text(payload, "tool_name"))
    reason = "this tool of kept only records the user's own words" if allowed else ""
    if not _handover_notice(root, payload, lambda: reason):
        return ""
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": reason}
    return format_json({"hookSpecificOutput": decision}) + "\n"


def _enqueue_session(root: str, payload: Mapping[str, Any]) -> None:
    path, state = _payload_text(payload, "transcript_path"), queue.state_folder(root)
    if path and len(path) < 2_000 and path.isprintable() and os.path.isdir(state):  # noqa: PTH112 - as in local/queue.py
        queue.enqueue_transcript(state, path, _format_now())


_Answer = Callable[[str, Mapping[str, Any], str], str]  # takes home, payload and client; returns the text that the client reads
EVENTS: Mapping[str, _Answer] = {
    "session-start": _session_start,
    "user-prompt": _user_prompt,
    "stop": _stop,
    "pre-compact": _pre_compact,
    "session-end": _session_end,
    "allow-suggest": _allow_suggestion,
    "subagent-start": _subagent_start,
    "tool-failure": _tool_failure,
}
# With the plugin, a transcript is read as soon as its session ends, unless the settings say otherwise.
_PLUGIN_EVENTS: Mapping[str, _Answer] = {
    **EVENTS,
    "session-start": _plugin_start,
    "session-end": partial(_session_end, usual="run"),
}

__all__ = ["EVENTS", "answer_event"]
