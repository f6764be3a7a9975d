"""``kept mcp`` against junk on its standard input."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("mcp")

from cli_world import told
from prepared import do

FACT = "The export of invoices is written by `InvoiceWriter`."
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def remembering(home):
    do("add", FACT, "--type", "project_fact")
    return home


def called(number, method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def spoken(*lines):
    """What the server says to a greeting, then these lines, then a search: every line of its standard output, read as JSON."""
    search = called(99, "tools/call", name="search_memory", arguments={"query": "InvoiceWriter"})
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    said = b"\n".join((called(1, "initialize", **GREETING), ready, *lines, search)) + b"\n"
    with subprocess.Popen(
        [sys.executable, "-m", "kept", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ,
    ) as process:
        process.stdin.write(said)
        process.stdin.flush()
        answers = []
        for line in process.stdout:
            answers.append(json.loads(line))
            if answers[-1].get("id") == 99:
                break
        process.stdin.close()
        process.wait()
    return answers


def test_junk_on_standard_input_is_answered_as_the_protocol_says_and_the_next_call_is_served(remembering, capsys):
    before = told(capsys, "list", "--all")
    answers = spoken(
        b"\x00\xff\xfe not json at all",
        b'{"jsonrpc": "2.0", "id": 2',
        b"[]",
        b"[" * 5_000,
        called(3, "no/such/method"),
        called(4, "tools/call", name="no_such_tool", arguments={}),
        called(5, "tools/call", name="get_memory_evidence", arguments={"id": "../../../etc/passwd"}),
        called(6, "tools/call", name="get_day_history", arguments={"date": "../../etc"}),
        called(7, "resources/read", uri="kept://day/../../../etc/passwd"),
        called(8, "tools/call", name="search_memory", arguments={"query": ["no", "text"]}),
    )
    assert all(each["jsonrpc"] == "2.0" for each in answers)
    by_id = {each["id"]: each for each in answers if "id" in each}
    assert FACT.rstrip(".") in by_id[99]["result"]["content"][0]["text"]
    for number in (3, 4, 8):
        assert "error" in by_id[number] or by_id[number]["result"]["isError"]
    assert "root:" not in json.dumps(answers)
    assert told(capsys, "list", "--all") == before


@pytest.mark.slow
def test_a_message_of_a_hundred_megabytes_does_not_end_the_server(remembering):
    answers = spoken(called(2, "tools/call", name="search_memory", arguments={"query": "x" * 100_000_000}))
    assert FACT.rstrip(".") in answers[-1]["result"]["content"][0]["text"]
