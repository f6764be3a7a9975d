"""Secrets in every place of a transcript: none of their bytes may lie anywhere below the home afterwards.

The secrets are made at run time, in the shape of real ones; none was ever issued.
"""

import importlib.util
import json
import random
import re
import string
from base64 import b64encode
from urllib.parse import quote

import pytest

from hostile_world import (
    OTHER,
    RULE,
    answer,
    bytes_below,
    call,
    human,
    leaked,
    lines,
    output,
    record,
    remembered,
    run_at,
    sampled,
    write,
)

MIXED = string.ascii_letters + string.digits


def made(length: int, letters: str = MIXED) -> str:
    """The same random text every time, different at every length."""
    return "".join(random.Random(length).choices(letters, k=length))


# name → where it stands in a text, and the part that is secret
SECRETS = {
    "a personal access token": ("token {}", "gh" + "p_" + made(36)),
    "a fine-grained token": ("GITHUB_TOKEN={}", "github" + "_pat_" + made(22) + "_" + made(59)),
    "a model provider's key": ("export ANTHROPIC_API_KEY={}", "sk-" + "ant-api03-" + made(93) + "AA"),
    "another provider's key": ("openai: {}", "sk-" + "proj-" + made(74) + "T3Blbk" + "FJ" + made(73)),
    "a cloud's secret key": ("aws_secret_access_key = {}", made(40, MIXED + "/+")),
    "a database's password": ("DATABASE_URL=postgres://app:{}@db.internal:5432/prod", made(19)),
    "a password in a setting": ('"db_password": "{}"', made(18, MIXED + "!#%")),
    "a password on a command line": ("curl -u admin:{} https://internal/api", made(16)),
    "a bearer token": ("Authorization: Bearer {}", made(48)),
    "a chat hook": ("https://hooks.slack.com/services/T{}", f"{made(9).upper()}/B{made(10).upper()}/{made(24)}"),
    "a web token": ("cookie: session={}", f"ey{'J'}hbGciOiJIUzI1NiJ9.ey{'J'}{made(61)}.{made(43)}"),
    "a private key": (
        "-----BEGIN RSA PRIVATE" + " KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
        "\n".join(made(64 - n, MIXED + "+/") for n in range(8)),
    ),
}


def everywhere(text: str) -> bytes:
    """A text in every place where a transcript can hold one."""
    return lines(
        human(RULE),
        answer("Done."),
        human(f"Always use this one: {text}"),
        answer(f"The value {text} works; I'll keep using it."),
        call(f"deploy --with '{text}'"),
        output(f"ok\n{text}\nbye"),
        record(
            "assistant",
            [
                {
                    "type": "tool_use",
                    "id": "t2",
                    "name": "Edit",
                    "input": {"file_path": f"/home/u/{text[:90]}", "old_string": text, "new_string": f"x = {text}"},
                }
            ],
        ),
        record(
            "user",
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "is_error": True,
                    "content": [{"type": "text", "text": f"Error: {text}"}],
                }
            ],
            toolUseResult={"stdout": text, "stderr": text, "filePath": text},
        ),
        call("go", name=text[:100], number="t3"),
        output(text, "t3"),
        output(text, "t3"),
        human(f"<system-reminder>{text}</system-reminder>"),
        human(text, isMeta=True),
        human(text, isSidechain=True),
        human(text, isCompactSummary=True),
        human("here", cwd=f"/home/u/{text}", gitBranch=text),
        {"type": "queue-operation", "operation": "enqueue", "content": text, "sessionId": "hostile"},
        {"type": "queue-operation", "operation": "remove", "sessionId": "hostile"},
        {"type": "queue-operation", "operation": "enqueue", "content": f"later: {text}", "sessionId": "hostile"},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": text}, "sessionId": "hostile"},
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [text]}, "sessionId": "hostile"},
        {"type": "summary", "summary": text},
        {"type": text, "text": text},
        {text: text, "type": "user"},
        json.dumps(human(text)).encode()[:-5] + b"\n",
        human(OTHER),
        answer("Done."),
    )


@pytest.mark.parametrize("name", sampled(SECRETS, 3))
def test_no_part_of_a_secret_is_kept_wherever_it_stood(tmp_path, name):
    place, secret = SECRETS[name]
    home = tmp_path / "home"
    path = write(tmp_path / "in", everywhere(place.replace("{}", secret)))
    run_at(home, path)
    held = bytes_below(home)
    assert leaked(secret, held) == []
    assert "ISO 8601" in remembered(home)
    path.write_bytes(path.read_bytes() + lines(human(f"Once more: {place.replace('{}', secret)}"))[:-9])
    run_at(home, path)
    assert leaked(secret, bytes_below(home)) == []


@pytest.mark.parametrize("wrap", ["\x1b[32m{}\x1b[0m", "{}\x1b[K", "\u2066{}\u2069"])
@pytest.mark.parametrize("join", sampled(["\u200b", "", "\u2060", "\x1b[1m", "\U000e0041"], 3))
def test_a_disguise_that_nobody_sees_hides_no_secret(tmp_path, wrap, join):
    _, secret = SECRETS["a personal access token"]
    home = tmp_path / "home"
    text = wrap.replace("{}", join.join([secret[:12], secret[12:25], secret[25:]]))
    run_at(home, write(tmp_path / "in", lines(call("env"), output(f"TOKEN={text}"), human(f"use {text} please"))))
    assert leaked(secret, bytes_below(home)) == []


def filled(template: str, secrets: dict[str, str]) -> tuple[str, dict[str, str]]:
    """A template with its placeholders filled, and the secrets that went in, by how they are disguised."""
    used = {}
    disguises = {
        "SECRET": lambda value: value,
        "ZWSP": "\u200b".join,
        "B64": lambda value: b64encode(value.encode()).decode(),
        "URL": lambda value: quote(value, safe=""),
    }

    def fill(found):
        how, kind, first, last = found.groups()
        secret = next(secrets[each] for each in (kind, *secrets) if each in secrets and each.split("-")[0] == kind.split("-")[0])
        used[f"{how} {kind}"] = secret
        return json.dumps(disguises[how](secret[int(first) if first else None : int(last) if last else None]))[1:-1]

    return re.sub(r"\{\{(\w+):([\w-]+)(?:\[(\d*):(\d*)\])?\}\}", fill, template), used


@pytest.fixture
def given(shared):
    """The shared secrets: kind → (a text that holds one, the secret)."""
    folder = shared / "hostile" / "secrets"
    spec = importlib.util.spec_from_file_location("hostile_load", folder / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [row[1:] for row in module.load(folder / "positives.jsonl")]


@pytest.mark.shared
@pytest.mark.parametrize(("name", "needed"), [("j25", ("SECRET",)), ("j26", ("SECRET openai-project", "ZWSP", "SECRET npm-token"))])
def test_the_shared_templates_leave_no_secret_behind(shared, given, tmp_path, name, needed):
    (path,) = (shared / "hostile" / "jsonl").glob(f"{name}_*")
    text, used = filled(path.read_text(), {kind: secret for kind, _, secret in given})
    home = tmp_path / "home"
    run_at(home, write(tmp_path / "in", text.encode()))
    held = bytes_below(home)
    assert used
    assert not [how for how, secret in used.items() if how.startswith(needed) and leaked(secret, held)]


@pytest.mark.shared
def test_nearly_every_shared_secret_is_gone_from_everything_a_home_holds(given, tmp_path):
    home = tmp_path / "home"
    records = [each for _, text, _ in given for each in (call("env"), output(text), human(text), answer(text))]
    run_at(home, write(tmp_path / "in", lines(*records)))
    held = bytes_below(home)
    left = [kind for kind, _, secret in given if leaked(secret, held)]
    assert len(left) <= len(given) * 0.05, left
