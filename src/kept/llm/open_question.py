"""A question under way: what it cost so far, and how it is asked once more."""

from dataclasses import dataclass, field, replace

from kept.llm.ask import Ask, Fault, Usage
from kept.llm.replies import QuestionNote
from kept.llm.reply import InvalidReply

_AGAIN = "Your last reply could not be used: {reason}. Reply again with one complete JSON object of the schema, and nothing else."


@dataclass(kw_only=True, slots=True)
class OpenQuestion:
    """A question under way: what it is remembered under, what it cost so far, whether it is the second try."""

    key: str
    ask: Ask
    again: bool = False
    spent: Usage = field(default_factory=Usage)
    told: InvalidReply | None = None


def question_note(key: str, ask: Ask) -> QuestionNote:
    """What is remembered of a question, under which key its reply is found."""
    return QuestionNote(key=key, purpose=ask.purpose, version=ask.version, schema=ask.schema, about=ask.about)


def make_second_ask(ask: Ask, wrong: InvalidReply) -> Ask:
    """The one question that may follow a reply nobody can use: the same, with what was wrong, and with more room where it was
    cut.
    """
    room = 2 if wrong.fault is Fault.TRUNCATED else 1
    return replace(ask, prompt=f"{ask.prompt}\n\n{_AGAIN.format(reason=wrong.reason)}", most=room * ask.most)
