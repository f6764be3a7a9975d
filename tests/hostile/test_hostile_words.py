"""A secret in every argument of every command, operation and tool, and in every place of a transcript's metadata: none is kept.

The secrets are made at run time, in the shape of real ones; each says by its seed where it went in.
"""

import json
import os
import random
import string
import typing
from contextlib import suppress
from functools import partial
from importlib import import_module

import pytest

from hostile_world import OTHER, RULE, answer, bytes_below, call, desk_at, human, lines, output, run_at, write
from kept.cli import main
from kept.cli.registry import COMMANDS
from kept.paths import find_paths
from kept.workspace import open_workspace
from waiting import run_apart

# Servers never end by themselves, a hook answers in a process of its own, and what is entered with the system is the system's.
NOT_CALLED = {"mcp", "web", "hook", "setup", "uninstall", "schedule"}
USUAL = {
    "kind": "decision",
    "category": "decision",
    "action": "list",
    "what": "retrieval",
    "earlier": "2026-01-01",
    "later": "2026-01-02",
}
# What commands with actions take besides their first words.
MORE = (
    ("config", "set", "exclude", "{}"),
    ("config", "set", "llm.command", "program --key {}"),
    ("config", "set", "timezone", "{}"),
    ("config", "set", "llm.key_env", "{}"),
    ("config", "set", "journal.folder", "{}"),
    ("config", "get", "{}"),
    ("profiles", "new", "{}"),
    ("profiles", "new", "own", "--like", "{}"),
    ("profiles", "use", "{}"),
    ("profiles", "show", "{}"),
    ("prompt", "show", "{}"),
    ("prompt", "edit", "{}"),
    ("prompt", "diff", "{}"),
    ("jobs", "show", "{}"),
    ("jobs", "done", "{}"),
    ("sources", "off", "{}"),
    ("sources", "on", "{}"),
    ("sources", "forget", "--session", "{}"),
    ("files", "show", "{}"),
    ("journal", "write", "--date", "{}"),
    ("journal", "write", "--template", "{}"),
    ("journal", "backfill", "--from", "{}"),
    ("review", "--approve", "{}"),
    ("import", "--from", "{}"),
)


def token(place):
    return "gh" + "p_" + "".join(random.Random(str(place)).choices(string.ascii_letters + string.digits, k=36))


def held(home, places):
    """The places whose secret lies anywhere below a home."""
    found = bytes_below(home)
    return [each for each in places if token(each).encode() in found or token(each).lower().encode() in found]


def kept(*arguments):
    """A call of the command line in this process; however it ends."""
    with suppress(SystemExit):
        main([str(each) for each in arguments])


@pytest.fixture
def elsewhere(tmp_path_factory, monkeypatch):
    """A folder outside the home, in which files may have any name, as the working directory."""
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EDITOR", "true")
    return folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEPT_HOME", str(tmp_path / "home"))
    run_at(tmp_path / "home", write(tmp_path / "in", lines(human(RULE), answer("Done."), human(OTHER), answer("Done."))))
    return tmp_path / "home"


def parameters(name):
    """The parameters of a command that take words or a path: their name, whether they are positional, how they are given, their
    type.
    """
    module, _, function = COMMANDS[name].place.partition(":")
    hints = typing.get_type_hints(getattr(import_module(f"kept.cli.{module}"), function))
    for parameter, (declared, _) in COMMANDS[name].options.items():
        if hints[parameter] not in (bool, int):
            flag = next((word for word in declared.split() if word.startswith("--")), "")
            yield parameter, not flag, flag, "Path" in str(hints[parameter])


def calls(folder, forms):
    """Every call of a command with a secret in one of its parameters, and the place it stands for."""
    for name in sorted(COMMANDS.keys() - NOT_CALLED):
        own = list(parameters(name))
        for number, (chosen, _, _, is_path) in enumerate(own):
            for form in ("bare", "told", "bare")[number % 2 :][:forms]:
                place = f"{name} {chosen} {form}"
                secret = token(place)
                given = secret if form == "bare" else f"Always use {secret} for it."
                if is_path:
                    given = folder / secret / "x.jsonl"
                    given.parent.mkdir(exist_ok=True)
                    if chosen == "project":
                        given = given.parent
                    elif name in ("run", "import", "restore"):
                        given.write_bytes(lines(human(RULE, sessionId=secret, cwd=str(given.parent)), answer("Done.")))
                words = [name]
                for other, positional, flag, _ in own:
                    value = given if other == chosen else USUAL.get(other, "")
                    if other in ("number", "numbers") and other != chosen:
                        value = "{id}"
                    if other in ("text", "query", "message") and other != chosen:
                        value = "Some other words."
                    if value and (positional or other == chosen or other in ("kind", "category")):
                        words += [value] if positional else [flag, value]
                yield place, words
    for template in MORE:
        place = " ".join(template)
        yield place, [each.replace("{}", token(place)) for each in template]


@pytest.mark.parametrize("forms", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_argument_of_any_command_leaves_a_secret_anywhere(home, elsewhere, forms):
    places = []
    for place, words in calls(elsewhere, forms):
        if "{id}" in words:
            with desk_at(home) as workspace:
                active = [each.id for each in workspace.store.log.memories() if each.content and each.status == "active"]
            words[words.index("{id}")] = active[0]
        kept(*words)
        if words[0] in ("retire", "forget"):
            kept("add", f"Rule number {len(places)} is about {'abcdefghij'[len(places) % 10]} and holds.", "--type", "decision")
        places.append(place)
    assert len(places) > 50 * forms
    assert held(home, places) == []
    with desk_at(home) as workspace:
        assert workspace.store.find_damage() == ()


def filled(schema, place, whole):
    """A value of a schema with a secret in every text."""
    if "$ref" in schema:
        schema = whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for choice in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if choice.get("type") != "null":
            return filled(choice, place, whole)
    match schema:
        case {"enum": [first, *_]}:
            return first
        case {"type": "object"}:
            return {name: filled(each, place, whole) for name, each in schema.get("properties", {}).items()}
        case {"type": "array"}:
            return [filled(schema["items"], place, whole)]
        case {"type": "boolean"}:
            return True
        case {"type": "integer" | "number"}:
            return 0
        case {"type": "string"} if "pattern" not in schema:
            return f"Always use {token(place)} for it."[: schema.get("maxLength", 10_000)]
    return "x"


def test_no_operation_of_the_api_keeps_a_secret(home):
    client = pytest.importorskip("starlette.testclient", exc_type=ImportError)
    server, context = import_module("kept.web.server"), import_module("kept.web.context")
    found = find_paths(str(home), os.environ)
    made = context.WebContext(
        open_own=partial(open_workspace, found), home=found, key="k" * 43, port=80, open_sample=partial(open_workspace, found)
    )
    headers = {"Authorization": f"Bearer {'k' * 43}", "Host": "127.0.0.1:80"}
    places, done = [], set()
    with client.TestClient(server.create_app(made), base_url="http://127.0.0.1:80") as page:
        whole = page.get("/api/openapi.json", headers=headers).json()
        assert "paths" in whole, whole
        for path, operations in whole["paths"].items():
            for method, operation in operations.items():
                if "schedule" in path or "sample" in path:
                    continue
                place = f"{method} {path}"
                places.append(place)
                with desk_at(home) as workspace:
                    memory = next(each for each in workspace.store.log.memories() if each.content)
                body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
                sent = filled(body, place, whole) if body else None
                if sent and "category" in sent:
                    sent["category"] = memory.category
                if sent and method == "patch":
                    sent.pop("scope", None)  # moving to a project that there is not changes nothing
                address = path.replace("{number}", memory.id).replace("{name}", "exclude")
                query = {each["name"]: token(place) for each in operation.get("parameters", ()) if each["in"] == "query"}
                for more in ({}, {"If-Match": "*"}):
                    answered = page.request(
                        method, address, json=sent, params=query if method == "get" else None, headers=headers | more
                    )
                    done |= {place} if answered.is_success else set()
    assert len(places) > 40
    assert {"post /api/memories", "patch /api/memories/{number}", "post /api/memories/{number}/retire"} <= done
    assert held(home, places) == []


def test_no_tool_of_mcp_keeps_a_secret(home):
    pytest.importorskip("mcp")
    server = import_module("kept.mcp.server").create_server(partial(open_workspace, find_paths(str(home), os.environ)))
    places = []

    async def each_tool():
        for tool in await server.list_tools():
            schema = tool.input_schema
            for chosen, kind in schema["properties"].items():
                if kind.get("type") != "string":
                    continue
                place = f"{tool.name} {chosen}"
                places.append(place)
                given = {name: "decision" if name == "category" else "Some words here." for name in schema.get("required", ())}
                for words in (token(place), f"Always use {token(place)} for it."):
                    with suppress(Exception):
                        await server.call_tool(tool.name, given | {chosen: words})

    run_apart(each_tool())
    assert len(places) > 10
    assert held(home, places) == []


def leaves(value, path=()):
    """The path of every text within a record, and of every name of a field."""
    match value:
        case dict():
            for name, each in value.items():
                yield from leaves(each, (*path, name))
        case list():
            for number, each in enumerate(value):
                yield from leaves(each, (*path, number))
        case str():
            yield path


def put(value, path, text):
    if not path:
        return text
    if isinstance(value, dict):
        return {**value, path[0]: put(value[path[0]], path[1:], text)}
    return [put(each, path[1:], text) if number == path[0] else each for number, each in enumerate(value)]


RECORDS = (
    human(RULE, slug="quiet-otter", permissionMode="default", requestId="req_1", entrypoint="cli"),
    {"type": "summary", "summary": "A title", "leafUuid": "leaf"},
    {"type": "custom-title", "customTitle": "A title", "sessionId": "hostile"},
    {"type": "agent-name", "agentName": "helper", "sessionId": "hostile"},
    answer("Looking.", requestId="req_2"),
    call("ls -la", agentId="agent-1"),
    output("Error: no such file", toolUseResult={"stdout": "a", "stderr": "b", "filePath": "/tmp/a", "agentId": "agent-2"}),
    {
        "type": "system",
        "subtype": "local_command",
        "content": "<command-name>/x</command-name>",
        "uuid": "s1",
        "sessionId": "hostile",
        "cwd": "/home/u/harbor",
        "timestamp": "2026-03-01T00:00:00.000Z",
    },
    human(OTHER),
    call("make test", number="t9"),
)


def test_no_place_of_a_transcripts_metadata_keeps_a_secret(tmp_path):
    home, places = tmp_path / "home", []
    for number, record in enumerate(RECORDS):
        for path in leaves(record):
            place = f"{number} {path}"
            places.append(place)
            texts = (token(place), f"a {token(place)} b", f"/srv/{token(place)}/x")
            changed = [put(record, path, text) for text in texts]
            write(tmp_path / "in" / str(len(places)), lines(*RECORDS[:number], *changed, *RECORDS[number + 1 :]))
    with_names = tmp_path / "in" / token("a folder") / f"{token('a file')}.jsonl"
    with_names.parent.mkdir()
    with_names.write_bytes(lines(*RECORDS))
    run_at(home, tmp_path / "in")
    run_at(home, tmp_path / "in")
    assert len(places) > 60
    assert held(home, [*places, "a folder", "a file"]) == []


def test_a_secret_in_a_line_that_a_person_adds_by_hand_reaches_no_memory(home):
    path = home / ".claude" / "rules" / "memory.md"
    path.write_text(path.read_text() + f"\n- Always log in with {token('by hand')} here.\n")
    kept("run")
    with desk_at(home) as workspace:
        contents = " ".join(each.content for each in workspace.store.log.memories())
    assert "[redacted:" in contents
    assert token("by hand") not in contents


def test_the_remote_of_a_checkout_keeps_no_credentials(tmp_path):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".git" / "config").write_text(
        f'[remote "origin"]\n\turl = https://me:{token("remote")}@host.example/{token("name")}/x.git\n'
    )
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    run_at(tmp_path / "home", write(tmp_path / "in", lines(human(RULE, cwd=str(project)), answer("Done.", cwd=str(project)))))
    assert held(tmp_path / "home", ["remote", "name"]) == []


def test_a_file_of_exported_memories_brings_no_secret(home, elsewhere):
    places = ("content", "quote", "event", "session", "source", "author", "artifact")
    body = {
        "content": f"Always use {token('content')} there.",
        "category": "decision",
        "origin": "user",
        "artifacts": [token("artifact")],
        "evidence": [{name: f"x {token(name)}" for name in places[1:-1]} | {"origin": "user"}],
    }
    (elsewhere / "given.jsonl").write_text(json.dumps(body) + "\n")
    kept("import", elsewhere / "given.jsonl")
    with desk_at(home) as workspace:
        assert any("[redacted:" in each.content for each in workspace.store.log.memories())
    assert held(home, places) == []


def test_what_an_agent_observes_keeps_no_secret(home):
    from kept import Memory  # noqa: PLC0415 - opens nothing until it is asked to

    with Memory.open(str(home), session="one") as memory:
        memory.observe(
            {"role": "user", "content": f"Use {token('said')}.", "name": token("name"), token("field"): "x", "id": token("id")}
        )
        memory.end_session()
    assert held(home, ["said", "name", "field", "id"]) == []
