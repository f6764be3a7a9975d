"""Find out who wrote the messages of a pi or OpenClaw session, and which part of a user's message is the gateway's.

Knows the markers that OpenClaw adds to a message, and the prompts that it writes itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from kept.core.event import Author
from kept.core.pattern import Pattern
from kept.core.words import match_opening
from kept.sources.drafts import (
    EventDraft,
    count_note,
    injected_draft,
    relabel,
    to_mapping,
)


class Runner(StrEnum):
    """Who talks to the assistant in a session, according to its key."""

    PERSON = ""
    GROUP = "group-chat"
    SUBAGENT = "subagent-session"
    CRON = "cron"
    HOOK = "hook"
    HEARTBEAT = "heartbeat"


EXCLUDED = (Runner.CRON, Runner.HOOK, Runner.HEARTBEAT)


def session_runner(key: str, entry: Mapping[str, Any]) -> Runner:
    """The runner of a session, from its key (``agent:main:cron:nightly``) and its entry in the session index."""
    parts = key.split(":")
    for runner in EXCLUDED:
        if runner.value in parts:
            return runner
    if "subagent" in parts:
        return Runner.SUBAGENT
    shared = {"group", "channel"}
    return Runner.GROUP if entry.get("chatType") in shared or shared & set(parts) else Runner.PERSON


_METADATA = Pattern(
    r"(?m)^[\w \t]{1,80}\(untrusted[^)\n]{0,60}\)[^\n]{0,200}\n```json[ \t]*\n(?s:.*?)^```[ \t]*$"
    r"|^\[message_id: [^\]\n]{1,200}\][ \t]*$"
)
# What the gateway says about a message's sender and chat.
_SENT = Pattern(
    r"(?m)^(?:Sender|Conversation info)[ \t]\(untrusted[^)\n]{0,60}\)[^\n]{0,200}\n```json[ \t]*\n((?s:.*?))^```[ \t]*$"
)
_NAME = Pattern(r'"(?:name|sender|username)"\s*:\s*"([^"\n]{1,80})"')
_NUMBER = Pattern(r'"(?:sender_id|id)"\s*:\s*"?([^"\s,}]{1,80})')
_SHARED = Pattern(r'"(?:is_group_chat|is_group)"\s*:\s*true|"(?:chat_type|chatType)"\s*:\s*"(?:group|channel)"|"group_subject"')
# "github-bot", "GithubBot", "deploybot", "dependabot[bot]"; not "Jim Talbot".
_BOT = Pattern(r"(?:(?i:[\s_.-]bot|\[bot\])|^(?i:bot)|[a-z]Bot|^[a-z0-9_]+bot)$")
_APART = "\x1f"
_ENVELOPE = Pattern(r"^\[[^\]\n]{0,160}\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\]\n]{0,40}\][ \t]*")
_SYSTEM = Pattern(r"^(?:System: \[[^\n]*(?:\n|$))+")
# Up to the last closing tag: a file may contain one itself.
_FILES = Pattern(r'(?s)^(?:\s*<(?:file|skill) name="[^"\n]{1,1000}"[^<>\n]{0,1000}>.*</(?:file|skill)>)')
_REPLY = Pattern(r"^\s*\[\[\s*reply_to(?:_current|:[^\]\n]{1,200})\s*\]\]\s*")
_SILENT = ("NO_REPLY", "HEARTBEAT_OK")


def parse_sender(text: str, owner: str) -> tuple[str, Runner]:
    """The owner of a chat (number and name of its first sender), with what this message adds, and whose message this is: one from a
    group, a bot or anybody but the owner is not the person's.

    If the owner and the sender both have a number, numbers are compared, because anybody may choose a name; else names are.
    """
    metadata = [match[1] for match in _SENT.finditer(text)] if "(untrusted" in text else []
    number, name = (next((found[1] for item in metadata if (found := pattern.search(item))), "") for pattern in (_NUMBER, _NAME))
    own_number, _, own_name = owner.rpartition(_APART)
    numbered = bool(own_number and number)
    other = number != own_number if numbered else bool(own_name and name and name != own_name)
    if other or any(_SHARED.search(item) for item in metadata) or _BOT.search(name):
        return owner, Runner.GROUP
    known = _APART.join((own_number or number, own_name or name))
    return known if known != _APART else "", Runner.PERSON


def prompt_drafts(text: str, runner: Runner, provenance: Any, noted: dict[str, int], *, index: int) -> list[EventDraft]:
    """The drafts of a user's message: what they typed, and what the gateway, files and hooks added."""
    text, around = _unwrap_message(text.strip(), noted)
    extra = [injected_draft("\n".join(around), "gateway-metadata", index, 1)] if around else []
    if not text:
        return extra
    own = match_opening("openclaw", text)
    kind = to_mapping(provenance).get("kind")
    if own or (isinstance(kind, str) and kind != "external_user"):
        return [injected_draft(text, own or "provenance", index, 0), *extra]
    drafts = EventDraft(reason="user-message", index=index).typed(text, noted)
    if runner is not Runner.PERSON:
        drafts = relabel(drafts, Author.SUBAGENT if runner is Runner.SUBAGENT else Author.INJECTED, runner.value)
    return drafts + [replace(draft, order=len(drafts)) for draft in extra]


def _unwrap_message(text: str, noted: dict[str, int]) -> tuple[str, list[str]]:
    """A message without what was added around it, and these additions."""
    around = []
    if "(untrusted" in text or "[message_id: " in text:
        around = [match.group(0) for match in _METADATA.finditer(text)]
        text = _METADATA.sub("", text).strip()
    for pattern in (_SYSTEM, _ENVELOPE, _FILES):
        if found := pattern.match(text):
            around.append(found.group(0).strip())
            text = text[found.end() :].strip()
    if around:
        count_note(noted, "removed:gateway-metadata", len(around))
    return text, around


def strip_gateway_marks(text: str) -> str:
    """An assistant's text without its markers for the gateway; empty if it tells the gateway to send nothing."""
    text = (_REPLY.sub("", text) if text.lstrip().startswith("[[") else text).strip()
    return "" if text in _SILENT else text
