"""No text costs much: every pattern of every module, and every cue of every language, on strings made to cost."""

import ast
import importlib
import pkgutil
import re
import time
from dataclasses import fields
from functools import _lru_cache_wrapper, cache
from inspect import signature
from pathlib import Path

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

import kept
from kept.core.pattern import LARGE, LatePattern, Pattern, PatternSet
from kept.extraction.rules.patterns import compile_pattern
from kept.profiles.lexicons import LANGUAGES, LOCAL_LANGUAGES, build_telling_patterns, load_lexicon

# Instructions of an RE2 pattern; above some 20,000 the default memory of its automaton runs out, which costs a search its speed.
PROGRAM, LARGE_PROGRAM = 18_000, 60_000
CHARS, LIMIT = 20_000, 0.1  # characters of a string; seconds of processor time
GROWTH = 3  # times the cost, at most, of twice the text: linear is 2, quadratic 4
LINEAR = 2.3  # the same for a short text, on which a part that is quadratic weighs less
SEEDS = (
    "a",
    "A",
    "é",
    "我",
    "0",
    " ",
    "\t",
    "\n",
    "_",
    "-",
    ".",
    "/",
    "\\",
    "(",
    "[",
    "<",
    "{",
    "`",
    '"',
    "'",
    ":",
    "=",
    "|",
    "*",
    "#",
    "@",
    "~",
    "\x1b[",
    "\u200b",
    "1.",
    "a.",
    "a/",
    "a ",
    "a: ",
    "[a]",
    "(a)",
    "a_",
    "a-",
    "-a",
    "0a",
    "x=",
    "a@",
    "a\n",
    "- a\n",
    "Error",
    "error ",
    "https://",
    "at ",
    "we never ",
    "the new the ",
    "that that ",
    "if we, ",
    "我们从不",
)


EVERY = pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])


def patterns_of_modules():
    """Every compiled pattern that a module of kept holds, with where it stands."""
    names = (each.name for each in pkgutil.walk_packages(kept.__path__, "kept."))
    for name in names:
        if name.endswith("__main__") or name.startswith("kept.adapters."):  # which need the packages they adapt to
            continue
        for held, own in vars(importlib.import_module(name)).items():
            value = own() if is_compiled_late(own) else own
            several = (
                value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list, frozenset)) else (value,)
            )
            for each in several:
                parts = each if isinstance(each, tuple) else (each,)
                yield from ((f"{name}.{held}", one) for one in parts if isinstance(one, (re.Pattern, LatePattern, Pattern)))


def is_compiled_late(value):
    """Whether this is a function that compiles one pattern and keeps it."""
    return isinstance(value, _lru_cache_wrapper) and str(signature(value)).replace("'", "").startswith("() -> re.Pattern[")


def cues_of(language):
    """Every pattern of a language's lexicon, compiled, with its name."""
    words = load_lexicon((language,)) if language in LANGUAGES else None
    holders = (words, *words.spoken) if words else (build_telling_patterns(language),)
    named = [(each.name, value) for held in holders for each in fields(held) if isinstance(value := getattr(held, each.name), str)]
    return [(name, compile_pattern(source)) for name, source in named]


def cost(pattern, text):
    """The processor time of a pattern on a text, the better of two tries."""
    tries = []
    for _ in range(2):
        begun = time.thread_time()
        pattern.search(text)
        pattern.match(text)
        tries.append(time.thread_time() - begun)
        if tries[-1] < LIMIT / 2:
            break
    return min(tries)


def too_dear(named, every):
    found = {}
    for name, pattern in named:
        for seed in SEEDS[::every]:
            # Even a quadratic cost stays below the limit from here on; a cubic one is far above it on this text already.
            short = cost(pattern, text_for(pattern, seed, CHARS // 10))
            if short < LIMIT / 200 or cost(pattern, text_for(pattern, seed, CHARS // 5)) < LINEAR * short:
                continue
            spent = cost(pattern, text_for(pattern, seed, CHARS))
            # A busy machine makes a linear pattern slow too; what costs more than it should grows faster than the text.
            if spent > LIMIT and cost(pattern, text_for(pattern, seed, 2 * CHARS)) > GROWTH * spent:
                found[name] = (seed, spent)
    return found


def text_for(pattern, seed, length):
    text = (seed * (length // len(seed) + 1))[:length] + "!\x00"
    return text.encode() if isinstance(pattern.pattern, bytes) else text


@EVERY
def test_no_pattern_of_any_module_costs_a_tenth_of_a_second_on_any_string(every):
    named = list(patterns_of_modules())
    assert len(named) > 200
    assert too_dear(named, every) == {}


@EVERY
@pytest.mark.parametrize("language", [*LANGUAGES, *LOCAL_LANGUAGES])
def test_no_cue_of_any_language_costs_a_tenth_of_a_second_on_any_string(language, every):
    assert too_dear(cues_of(language), every) == {}


def test_no_pattern_is_so_large_that_its_automaton_does_not_fit_in_memory():
    named = [(name, each) for name, each in patterns_of_modules() if isinstance(each, Pattern)]
    named += [(f"{language} {name}", each) for language in (*LANGUAGES, *LOCAL_LANGUAGES) for name, each in cues_of(language)]
    limits = {0: PROGRAM, LARGE: LARGE_PROGRAM}
    assert {name: each.programsize for name, each in named if each.programsize > limits.get(each._memory, PROGRAM)} == {}


def test_the_largest_patterns_search_without_an_error_on_the_terminal(capfd):
    named = [each for _, each in patterns_of_modules() if isinstance(each, Pattern) and each.programsize > PROGRAM]
    assert named != []
    for pattern in named:
        loud = re2.Options()
        loud.max_mem = pattern._memory
        list(re2.compile(pattern.engine.pattern, loud).finditer("We decided to let it go, and restart the worker; see docs. " * 20))
        list(pattern.finditer("x" * 50))
    assert capfd.readouterr().err == ""


def compiles_late(function):
    cached = "cache" in map(ast.unparse, function.decorator_list) and not ast.unparse(function.args)
    return cached and function.returns is not None and ast.unparse(function.returns).strip("'").startswith("re.Pattern[")


READERS = ("core", "extraction", "intake", "sources")  # what reads words that anybody may have written


def test_no_pattern_that_can_go_back_is_hidden_from_these_tests():
    """A pattern of ``re`` is compiled once, at the top of its module or in a cached function of its own, where the tests above find
    it (or by ``compile_late``, which they know); all else is RE2.
    """
    hidden = []
    for folder in READERS:
        for path in sorted((Path(kept.__file__).parent / folder).rglob("*.py")):
            if not re.search(r"\bre\.|\bcompile_late\b", text := path.read_text(encoding="utf-8")):
                continue
            tree = ast.parse(text)
            functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and not compiles_late(each)]
            inside = {id(each) for function in functions for each in ast.walk(function)}
            for each in ast.walk(tree):
                match each:
                    case ast.Call(func=ast.Name(id="compile_late")) if id(each) in inside:
                        hidden.append(f"{path.name}:{each.lineno}")
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if name != "escape":
                        if name != "compile" or (id(each) in inside and path.name != "pattern.py"):
                            hidden.append(f"{path.name}:{each.lineno}")
    assert hidden == []


@given(
    st.text("ab é我\n😀", max_size=12),
    st.sampled_from(["a*", "(a)|(é)", "^b?", "我", "(?P<x>.)b", ""]),
    st.integers(-1, 13),
    st.integers(-1, 13),
)
def test_a_pattern_finds_what_its_engine_finds(text, source, start, end):
    own = Pattern(source)
    for each in (text, text.encode()):
        for name in ("search", "match"):
            found, expected = getattr(own, name)(each, start, end), getattr(own.engine, name)(each, start, end)
            assert (found and (found.span(), found.groups())) == (expected and (expected.span(), expected.groups()))
        assert [match.span() for match in own.finditer(each, start, end)] == [
            match.span() for match in own.engine.finditer(each, start, end)
        ]
        assert own.sub("x" if isinstance(each, str) else b"x", each) == own.engine.sub("x" if isinstance(each, str) else b"x", each)


@given(
    st.text("aZé我あ한дאש5_×،؟।]\\ -", max_size=8), st.sampled_from([r"\pL+", r"[\pL-]+", r"[^\]\pL]", r"\[?\pL\b", r"(?i)\\\pL"])
)
def test_the_ranges_of_letters_match_the_letters_of_every_script(text, source):
    found, expected = Pattern(source).search(text), re2.search(source, text)
    assert (found and found.span()) == (expected and expected.span())


SPOKEN = tuple(patterns.words for patterns in load_lexicon(("en",)).tellings)


@cache
def spoken_set():
    return PatternSet([*SPOKEN, ""], memory=1 << 26)


@given(
    st.lists(
        st.sampled_from(["Always", "from now on", "MERK DIR", "Запомни", "記住", "jamás", "the", "we decided", " ", "\n", "é"])
    )
)
def test_a_set_of_patterns_finds_those_that_occur(words):
    text = " ".join(words)
    expected = [place for place, source in enumerate(SPOKEN) if Pattern(source).search(text)]
    assert spoken_set().find(text) == expected
