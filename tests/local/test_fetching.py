"""Fetching from servers that are not trusted."""

import json
from urllib.request import Request

import pytest

from kept.local.fetching import fetch
from loopback import Loopback


@pytest.fixture
def server():
    made = Loopback()
    yield made
    made.close()


def ask(server, fault, **more):
    server.faults = [fault]
    request = Request(f"{server.url}/api/chat", json.dumps({}).encode(), {"Authorization": "Bearer k"})
    return fetch(request, **{"seconds": 60.0, "most": 2**20} | more)


def test_a_response_ends_in_time_however_many_bytes_arrive(server):
    with pytest.raises(TimeoutError):
        ask(server, "drip", seconds=0.3)


@pytest.mark.parametrize("fault", ["endless", "no http"])
def test_a_response_that_is_too_large_or_not_http_is_refused(server, fault):
    with pytest.raises(ValueError, match="the response is"):
        ask(server, fault)


def test_no_redirect_is_followed_unless_asked_for(server):
    assert ask(server, "moved").status == 307
    assert len(server.requests) == 1
