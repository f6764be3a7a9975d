"""The worked examples of the prompts: replies of the form that is asked for, about what stands before them."""

import json
import re

from kept.curation.advice import OUTDATED_SCHEMA
from kept.curation.advice import SCHEMA as CHANGES
from kept.llm.reply import parse_reply
from kept.profiles.prompts import question_text


def example(text):
    reply = text[text.rindex('\n{"') :].strip()
    return text[: text.rindex('\n{"')], json.loads(reply)


def test_the_example_of_curation_does_one_thing_to_each_number_it_names():
    before, body = example(question_text("curation")[0])
    assert parse_reply(json.dumps(body), CHANGES) == body
    numbers = {int(number) for number in re.findall(r"(?m)^(\d) \(", before)}
    done = [each["id"] for each in body["operations"]]
    assert len(done) == len(set(done))
    assert set(done) | {each["with"] for each in body["operations"]} <= numbers | {0}


def test_the_example_of_what_is_outdated_puts_into_a_sentence_what_was_changed():
    before, body = example(question_text("outdated")[0])
    assert parse_reply(json.dumps(body), OUTDATED_SCHEMA) == body
    lines = {int(number): rest for number, rest in re.findall(r"(?m)^(\d) (\(.*)$", before)}
    stated = {each["id"]: each["now"] for each in body["operations"] if each["now"]}
    told = {number: lines[number].partition("): ")[2] for number in stated}
    assert stated == {3: told[3].replace("20", "50"), 4: told[4].replace("5 MB", "8 MB")}


def test_the_example_of_a_days_outcome_names_points_that_were_given():
    before, body = example(question_text("outcome")[0])
    given = set(re.findall(r"(?m)^(p\d) \(", before))
    assert {point for kind in body.values() for each in kind for point in each["points"]} == given


def test_the_example_of_a_journal_names_its_notes():
    before, body = example(question_text("journal")[0])
    assert all(f'{source} "' in before for each in body["paragraphs"] for source in each["sources"])
