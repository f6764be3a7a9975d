"""Build Claude Code records, and read them."""

import json

from kept.core.event import Cursor, RecordAccount
from kept.sources.formats.claude_code import ClaudeCode

READER = ClaudeCode()


def line(value) -> bytes:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).encode() + b"\n"


def said(role, content, uuid="u1", **fields):
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": None,
        "sessionId": "s1",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "cwd": "/home/u/p",
        "gitBranch": "main",
        "message": {"role": role, "content": content, **({"id": "msg_1"} if role == "assistant" else {})},
        **fields,
    }


def user(content, uuid="u1", **fields):
    return said("user", content, uuid, **fields)


def assistant(content, uuid="a1", **fields):
    return said("assistant", content, uuid, **fields)


def text(words):
    return {"type": "text", "text": words}


def use(name="Bash", call="t1", **inputs):
    return {"type": "tool_use", "id": call, "name": name, "input": inputs}


def result(content, call="t1", **fields):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **fields}


def read(path, cursor=None):
    slices = list(READER.read(path, cursor or Cursor()))
    account = sum((piece.account for piece in slices), RecordAccount())
    assert account.records == account.kept + sum(account.dropped.values())
    assert account.malformed >= len(account.problems)
    return [event for piece in slices for event in piece.events], account, slices[-1].cursor if slices else cursor
