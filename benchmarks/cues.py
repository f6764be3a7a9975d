"""Time every pattern of every language's lexicon, and every pattern in a module of kept, on long hostile strings.

    python benchmarks/cues.py [--chars 20000]

Prints, for each language and for the modules together, how many patterns there are, the slowest one with its string, and its
milliseconds of processor time (the better of two tries).
"""

import argparse
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from dataclasses import fields

import kept
from kept.core.pattern import Pattern
from kept.profiles.lexicons import LANGUAGES, Lexicon, load_lexicon

SEEDS = (
    "a",
    " ",
    "we never ",
    "no no ",
    "the new the ",
    "x y z w v ",
    "ä",
    "我们",
    "(((",
    "`a/b",
    "don't ",
    "if we, ",
    "\u200b",
    "that that ",
)


def patterns(words: Lexicon) -> list[tuple[str, str]]:
    """The patterns of a lexicon, each with the name of its field."""
    holders = (words, *words.spoken)
    return [
        (each.name, value)
        for held in holders
        for each in fields(held)
        if isinstance(value := getattr(held, each.name), str) and value
    ]


def of_modules() -> Iterator[tuple[str, re.Pattern[str] | Pattern]]:
    """The compiled text patterns in all modules, each with its location."""
    for each in pkgutil.walk_packages(kept.__path__, "kept."):
        if each.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(each.name)
        except ImportError:  # the adapter of a framework that is not installed (`agents` would be the script beside this one)
            continue
        for name, held in vars(module).items():
            several = held.values() if isinstance(held, dict) else held if isinstance(held, (tuple, list, frozenset)) else (held,)
            for value in several:
                for one in value if isinstance(value, tuple) else (value,):
                    if isinstance(one, (re.Pattern, Pattern)) and isinstance(one.pattern, str):
                        yield f"{each.name}.{name}", one


def slowest(found: list[tuple[str, re.Pattern[str] | Pattern]], chars: int) -> tuple[float, str, str]:
    """The slowest pattern: its milliseconds of processor time, its name, and the string."""
    worst = (0.0, "", "")
    for name, pattern in found:
        pattern.search("warm")
        for seed in SEEDS:
            text = (seed * (chars // len(seed) + 1))[:chars] + "!"
            worst = max(worst, (min(spent(pattern, text) for _ in range(2)), name, seed))
    return worst


def spent(pattern: re.Pattern[str] | Pattern, text: str) -> float:
    begun = time.thread_time()
    pattern.search(text)
    return (time.thread_time() - begun) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chars", type=int, default=20_000)
    chars = parser.parse_args().chars
    groups = [(each, [(name, Pattern(source)) for name, source in patterns(load_lexicon((each,)))]) for each in LANGUAGES]
    for title, found in [*groups, ("modules", list(of_modules()))]:
        milliseconds, name, seed = slowest(found, chars)
        print(f"{title}: {len(found)} patterns, slowest {milliseconds:.1f} ms: {name} on {seed!r}")


if __name__ == "__main__":
    main()
