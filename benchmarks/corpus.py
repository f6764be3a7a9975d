"""Make larger corpora from a small one by repeating its sessions with new ids, dates and file names."""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r'"timestamp":\s?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)Z"')


def repeat(source: Path, target: Path, times: int) -> int:
    """Write ``times`` copies of all JSONL files below ``source`` into ``target``, with new ids, each copy 60 days later.

    Returns the bytes written.
    """
    total = 0
    for number in range(times):
        for path in sorted(source.rglob("*.jsonl")):
            text = renewed(path.read_text(encoding="utf-8"), number)
            folder = target / f"copy-{number:03d}" / path.parent.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{fresh(path.stem, number)}.jsonl").write_text(text, encoding="utf-8")
            total += len(text.encode())
    return total


def renewed(text: str, number: int) -> str:
    """A transcript with new ids and later dates."""
    text = _UUID.sub(lambda found: fresh(found[0], number), text)
    return _TIME.sub(lambda found: f'"timestamp":"{shifted(found[1], number)}Z"', text)


def fresh(name: str, number: int) -> str:
    """The new id in copy ``number``; the old one in copy 0."""
    return name if number == 0 else str(uuid.uuid5(uuid.NAMESPACE_URL, f"{number}:{name}"))


def shifted(moment: str, number: int) -> str:
    """The time ``number`` times 60 days later, with milliseconds."""
    return (datetime.fromisoformat(moment) + timedelta(days=60 * number)).isoformat(timespec="milliseconds")


def conversation(path: Path, events: int, *, topics: int = 200) -> int:
    """Write one Claude Code session of so many events, in one chain of turns, and return its size in bytes.

    Each exchange has ten events: a prompt, a plan, and four calls with their outputs. One prompt in thirty states a rule, about as
    often as people do. There are ``topics`` different rules, because a long conversation returns to the same things.
    """
    with path.open("w", encoding="utf-8") as file:
        for number in range(events):
            file.write(json.dumps(_turn(number, topics), separators=(",", ":")) + "\n")
    return path.stat().st_size


def _turn(number: int, topics: int) -> dict[str, object]:
    exchange, place = divmod(number, 10)
    part = f"part{exchange * 7 % 997}"
    rule = (
        f"In this project we always keep the schema of part{exchange // 30 % topics} in "
        f"`lib/part{exchange // 30 % topics}.sql`, never inline."
    )
    content: object
    match place:
        case 0:
            content = rule if exchange % 30 == 7 else f"Now look at {part} and tell me why its import of batch {exchange} is slow."
        case 9:
            content = [
                {
                    "type": "text",
                    "text": f"The import of {part} reads each row of batch {exchange} twice; I made it read them once.",
                }
            ]
        case _ if place % 2:
            given = {"command": f"pytest tests/{part}/test_import.py -k batch{number}"}
            content = [{"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": given}]
        case _:
            told = f"{number % 90} passed, 0 failed in {number % 7}.{number % 10}s\nrows read: {number * 3}\n"
            content = [{"type": "tool_result", "tool_use_id": f"call-{number - 1}", "content": told, "is_error": False}]
    role = "user" if place == 0 or (place % 2 == 0) else "assistant"
    message = {"role": role, "content": content} | ({"id": f"msg-{number}"} if role == "assistant" else {})
    moment = datetime(2026, 1, 5, 8, tzinfo=UTC) + timedelta(seconds=20 * number)
    return {
        "type": role,
        "uuid": f"turn-{number}",
        "parentUuid": f"turn-{number - 1}" if number else None,
        "sessionId": "one-long-conversation",
        "cwd": "/home/u/harbor",
        "version": "2.1.0",
        "userType": "external",
        "isSidechain": False,
        "timestamp": f"{moment:%Y-%m-%dT%H:%M:%S}.000Z",
        "message": message,
    }
