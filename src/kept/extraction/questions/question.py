"""The question a model is asked about a chunk: the stable text first, then the conversation, then what rules found in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kept.core.memory import Candidate
from kept.extraction.questions.chunks import Chunk
from kept.extraction.questions.form import SCHEMA
from kept.llm.ask import Ask

PURPOSE = "extract"
MOST_TOKENS = 4_096
_AGAIN = (
    "This part was read before, and nothing was found about the sentences below. Look again whether they say something "
    "that holds beyond "
    "the moment; if not, answer with empty lists."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hint:
    """What rules propose, under the name a model knows it by (``h1``)."""

    name: str
    candidate: Candidate


def hints(candidates: Sequence[Candidate]) -> tuple[Hint, ...]:
    """The candidates with their names, in order."""
    return tuple(Hint(name=f"h{number}", candidate=each) for number, each in enumerate(candidates, 1))


def question(
    chunk: Chunk, found: Sequence[Hint], *, system: str, version: str, about: Sequence[str] = (), missed: Sequence[str] = ()
) -> Ask:
    """What is asked about a chunk of the sessions ``about``. ``missed`` are sentences in it that nothing was found about so far."""
    parts = ["Read before, only to be understood by:", *(each.text for each in chunk.lead), ""] if chunk.lead else []
    parts += ["<conversation>", *(each.text for each in chunk.turns), "</conversation>"]
    if found:
        parts += ["", "Hints:", *(f"{each.name} ({each.candidate.category}): {each.candidate.content}" for each in found)]
    if missed:
        parts += ["", _AGAIN, *(f"- {each}" for each in missed)]
    return Ask(
        purpose=PURPOSE,
        version=version,
        system=system,
        prompt="\n".join(parts),
        schema=SCHEMA,
        most=MOST_TOKENS,
        about=tuple(about),
        waits=True,
    )
