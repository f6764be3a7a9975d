"""Times every cue of every language's lexicon on long hostile strings.

    python benchmarks/cues.py [--chars 20000]

Prints, for each language, how many patterns there are, the slowest one with its string, and its milliseconds of processor time.
"""

import argparse
import time
from dataclasses import fields

import re2

from kept.model.lexicon import Lexicon
from kept.profiles.lexicons import LANGUAGES, lexicon

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
    """Every pattern of a lexicon with the name of its field."""
    plain = [(each.name, value) for each in fields(Lexicon) if isinstance(value := getattr(words, each.name), str) and value]
    slots = [(f"slots.{name}", source) for name, source in words.slots]
    themes = [(f"themes.{name}", source) for name, source in words.themes]
    return [*plain, *slots, *themes, *((f"softer {source}", source) for source, _ in words.softer)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chars", type=int, default=20_000)
    chars = parser.parse_args().chars
    for language in LANGUAGES:
        found = patterns(lexicon((language,)))
        worst = (0.0, "", "")
        for name, source in found:
            compiled = re2.compile(source)
            compiled.search("warm")
            for seed in SEEDS:
                text = (seed * (chars // len(seed) + 1))[:chars]
                begun = time.process_time()
                compiled.search(text)
                worst = max(worst, ((time.process_time() - begun) * 1000, name, seed))
        print(f"{language}: {len(found)} patterns, slowest {worst[0]:.1f} ms: {worst[1]} on {worst[2]!r}")


if __name__ == "__main__":
    main()
