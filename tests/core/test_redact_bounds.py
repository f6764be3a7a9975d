"""What redaction decides at its bounds: on which side of each a value or a text lies stands in ``redaction_bounds.jsonl``.

Its texts are cut into pieces, so that no scanner takes the made-up secrets for real ones. A row that is to change is a decision.
"""

import json
from pathlib import Path

from kept.core.redact import redact, shape, values

ROWS = [json.loads(line) for line in (Path(__file__).parent / "redaction_bounds.jsonl").read_text(encoding="utf-8").splitlines()]
KEY = b"a key for tests"


def judged(name, *arguments):
    """What a judgement of a value says; its texts as bytes, its setting as such, what names are given by name."""
    found = [each.encode() if isinstance(each, str) else each for each in arguments]
    if name == "is_secret_value":
        return values.is_secret_value(values.Setting[arguments[0]], arguments[1], found[2])
    if name == "looks_random":
        return shape.looks_random(found[0], least=found[1])
    if name == "looks_token":
        return shape.looks_token(found[0], named=found[1])
    if name == "is_grouped":
        return values.is_grouped(found[0], letters=found[1])
    if name == "find_cookie_values":
        return [list(place) for place in values.find_cookie_values(found[0])]
    said = getattr(values, name, None) or getattr(shape, name)
    made = said(*found)
    return made.decode() if isinstance(made, bytes) else made


def joined(argument):
    return "".join(argument) if isinstance(argument, list) else argument


def test_a_value_on_either_side_of_a_bound_is_judged_as_written_down():
    assert [row for row in ROWS if "call" in row and judged(*map(joined, row["call"])) != row["gives"]] == []


def test_a_text_on_either_side_of_a_bound_becomes_what_is_written_down():
    changed = [row for row in ROWS if "text" in row and redact(joined(row["text"]), key=KEY).text != joined(row["becomes"])]
    assert changed == []
