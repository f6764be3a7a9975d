"""Loads the redaction rules from ``secrets.toml``, and finds the rules that a text needs in one scan."""

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kept.core.codec import load_table
from kept.core.pattern import latin1_options, load_engine
from kept.core.redact.lookalikes import HEX_DUMP, LINE_BREAK, LOOKALIKES, SPLIT
from kept.core.redact.shape import compile_re2
from kept.core.redact.values import Setting
from kept.core.value import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One documented form of a secret.

    ``rank`` is as in :func:`rank_name`, or 0 if the name next to the value decides. ``mixed`` requires letters and digits.
    ``needs`` is a small pattern that matches every text in which ``pattern`` matches; empty if there is none.
    """

    kind: str
    pattern: bytes
    needs: bytes
    anchors: tuple[bytes, ...]
    setting: Setting
    rank: int
    mixed: bool


class Finder:
    """Numbers of the finders that anchors can call for. Anchors call for rules by their index, which is not negative."""

    TOKENS, DUMPS, HEX, TABLES, SPLIT, LOOKALIKES, BROKEN = range(-12, -5)
    ENCODED, MANIFESTS, PRIVATE_BLOCKS, PRIVATE_KEYS, ASSIGNMENTS = range(-5, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleBook:
    """The redaction rules: the rules themselves, a function that returns the numbers of the anchors in a text, the rules and
    finders to run for each anchor, and the pattern of a token broken by a line end.
    """

    rules: tuple[Rule, ...]
    anchors: Callable[[bytes], list[int]]
    calls: tuple[frozenset[int], ...]
    broken: Any

    def match_anchors(self, data: bytes) -> frozenset[int]:
        """The rules (by index) and finders that the anchors in a text call for."""
        called = _join_calls(tuple(self.anchors(data)))
        # As an anchor, this pattern would make the automaton of all anchors four times slower.
        return called | _TOKENS if _TOKEN.search(data) else called


_EXACT = {b"PRIVATE KEY": Finder.PRIVATE_KEYS, b"Private-Lines": Finder.PRIVATE_KEYS}
_FOLDED = dict.fromkeys(
    (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"credential", b"jwt", b"_pat", b"-pat", b"_dsn", b"_pw", b"-pw"),
    Finder.ASSIGNMENTS,
) | {
    b"private>": Finder.PRIVATE_BLOCKS,
    b"private >": Finder.PRIVATE_BLOCKS,
    b"secret": Finder.MANIFESTS,
    b"passw": Finder.TABLES,
    b"values": Finder.DUMPS,
    b"stdin": Finder.DUMPS,
}
_HIDDEN = (b"-----BEGIN ", b"postgres", b"mysql://", b"mongodb", b"redis://", b"https://")
_HIDDEN_NAMES = tuple(
    b"password,Password,PASSWORD,passwd,secret,SECRET,api_key,API_KEY,apikey,apiKey,access_key,ACCESS_KEY,token=,TOKEN=,"
    b"Authorization:,authorization:,Bearer ,curl -".split(b",")
)
_TOKEN = compile_re2(rb"[_.:~|-][A-Za-z]{0,24}[0-9][A-Za-z0-9]{12}")
_TOKENS = frozenset((Finder.TOKENS,))
_DISGUISES = {LOOKALIKES: {Finder.LOOKALIKES}, SPLIT: {Finder.SPLIT}, HEX_DUMP: {Finder.HEX}}
_LEAST_HEX = 4  # bytes; a shorter anchor is not searched in hexadecimal form


@cache
def load_rule_book() -> RuleBook:
    """The rules from ``secrets.toml``, most specific first; loaded once."""
    data = load_table(Path(__file__).with_name("secrets.toml"))
    words = {f"{{{name}}}": _spell(said) for name, said in data["words"].items()}
    rules = [_parse_rule(kind, fields, Setting.SHAPE, words) for kind, fields in data["providers"].items()]
    rules += [_parse_rule(kind, fields, Setting(fields["setting"]), words) for kind, fields in data["carriers"].items()]
    exact = {word: {finder} for word, finder in _EXACT.items()}
    folded = {word: {finder} for word, finder in _FOLDED.items()}
    folded[b"secret"].add(Finder.ASSIGNMENTS)
    for index, rule in enumerate(rules):
        token = rule.setting is Setting.SHAPE
        for anchor in rule.anchors:
            (exact if token else folded).setdefault(anchor, set()).add(index)
            if token and (len(anchor) > 3 or not anchor.isalnum()):
                exact[anchor].add(Finder.BROKEN)
    long = [anchor for anchor, called in exact.items() if Finder.BROKEN in called]
    for word in (*(anchor for anchor in long if len(anchor) > 3), *_HIDDEN, *_HIDDEN_NAMES):
        for encoded in _base64_forms(word):
            exact.setdefault(encoded, set()).add(Finder.ENCODED)
        if len(word) >= _LEAST_HEX:
            for form in (word.hex(), word.hex(":")):
                folded.setdefault(form.encode(), set()).add(Finder.HEX)
    anchors = load_engine().Set.SearchSet(latin1_options())
    for word in exact:
        anchors.Add(re.escape(word))
    for word in folded:
        anchors.Add(b"(?i)" + re.escape(word))
    for shape in _DISGUISES:
        anchors.Add(shape)
    anchors.Compile()
    return RuleBook(
        rules=tuple(rules),
        anchors=anchors._set.Match,  # noqa: SLF001 - what the engine's own method calls
        calls=tuple(frozenset(called) for table in (exact, folded, _DISGUISES) for called in table.values()),
        broken=compile_re2(rb"(?:" + b"|".join(map(re.escape, long)) + rb")[\w+/=.-]*(?:" + LINE_BREAK + rb"[\w+/=.-]+)+"),
    )


@lru_cache(maxsize=4096)
def _join_calls(anchors: tuple[int, ...]) -> frozenset[int]:
    """The rules and finders that several anchors, given by number, call for. Cached: many texts have the same few anchors."""
    return frozenset[int]().union(*(load_rule_book().calls[anchor] for anchor in anchors))


def _base64_forms(word: bytes) -> Iterator[bytes]:
    """The three forms that a word takes inside base64, depending on the bytes before it."""
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(word)) * 8 // 6
        yield base64.b64encode(b"\0" * before + word)[first:end]


def _spell(words: list[str]) -> tuple[str, ...]:
    """The words and, if they are not ASCII, their capitalized and upper-case forms. Byte patterns ignore the case of ASCII only."""
    return tuple(
        dict.fromkeys(form for word in words for form in ((word,) if word.isascii() else (word, word.capitalize(), word.upper())))
    )


def _parse_rule(kind: str, fields: dict[str, Any], setting: Setting, words: dict[str, tuple[str, ...]]) -> Rule:
    folded = "" if setting is Setting.SHAPE else "(?i)"
    pattern = folded + fields["pattern"]
    for name, forms in words.items():
        pattern = pattern.replace(name, "|".join(forms))
    return Rule(
        kind=kind,
        pattern=pattern.encode(),
        needs=fields.get("needs", "").encode(),
        anchors=tuple(form.encode() for anchor in fields["anchors"] for form in words.get(anchor, (anchor,))),
        setting=setting,
        rank=fields.get("rank", 0),
        mixed="mixed" in fields,
    )
