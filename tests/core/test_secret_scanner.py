"""A richer scanner for secrets, where one is installed."""

import sys
from types import SimpleNamespace

import pytest

from kept.core import redact as scanner
from kept.core.redact import redact

WORD = "correct-horse-battery"


class Finding:
    def __init__(self, data: bytes) -> None:
        self.visible, self.rule_id, self._start = True, "other.Odd_Token", data.find(WORD.encode())

    def to_dict(self):
        return {"location": {"start_offset": self._start, "end_offset": self._start + len(WORD)}}


@pytest.fixture
def installed(monkeypatch):
    engine = SimpleNamespace(scan=lambda data, **_: [Finding(data)] if WORD.encode() in data else [])
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", SimpleNamespace(Scanner=lambda: engine, __spec__=object()))
    monkeypatch.setattr(scanner, "find_spec", lambda *_: object())


def test_what_only_the_richer_scanner_finds_is_taken_out_too(installed):
    done = redact(f"é the phrase is {WORD}, she said", key=b"k", more=scanner.load_scanner())
    assert WORD not in done.text
    assert [each.kind for each in done.found] == ["odd-token"]


def test_a_finding_of_fewer_than_eight_bytes_or_one_that_is_hidden_is_none(monkeypatch):
    def found(length, *, visible=True):
        place = {"location": {"start_offset": 3, "end_offset": 3 + length}}
        return SimpleNamespace(visible=visible, rule_id="other.Odd", to_dict=lambda: place)

    for finding, places in (
        (found(8), [(3, 11, "odd")]),
        (found(7), []),
        (found(9, visible=False), []),
    ):
        engine = SimpleNamespace(scan=lambda _, finding=finding, **__: [finding])
        monkeypatch.setitem(sys.modules, "kingfisher_sdk", SimpleNamespace(Scanner=lambda engine=engine: engine, __spec__=object()))
        monkeypatch.setattr(scanner, "find_spec", lambda *_: object())
        assert list(scanner.load_scanner()(b"x" * 20)) == places


@pytest.mark.parametrize(
    ("rule", "kind"), [("a.github-pat", "github-pat"), ("Odd Token!", "odd-token"), ("a.---", "secret"), ("x" * 60, "x" * 40)]
)
def test_the_name_of_a_rule_becomes_a_kind(rule, kind):
    assert scanner.rule_kind(rule) == kind


def test_without_the_extra_there_is_no_richer_scanner(monkeypatch):
    monkeypatch.setattr(scanner, "find_spec", lambda *_: None)
    assert scanner.load_scanner() is None


def test_the_real_scanner_finds_a_token_where_it_is_installed():
    pytest.importorskip("kingfisher_sdk")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    find = scanner.load_scanner()
    assert find is not None
    assert [text for start, end, _ in find(f"é {token}".encode()) for text in [f"é {token}".encode()[start:end]]] == [
        token.encode()
    ]
