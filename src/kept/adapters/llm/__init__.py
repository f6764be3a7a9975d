"""Language models, each behind one protocol (:class:`Model`): a program, two vendors' interfaces, a script, a recording.

An adapter asks once and tells what came. It does not retry, remember, count money or check replies: that exists once, above it.
"""

from kept.adapters.llm.anthropic import Anthropic
from kept.adapters.llm.base import Batching, Model, Said, Silent, Spoken
from kept.adapters.llm.command import Command
from kept.adapters.llm.openai import OpenAI
from kept.adapters.llm.recorded import Recorded, Recording, without
from kept.adapters.llm.scripted import Scripted, script

__all__ = [
    "Anthropic",
    "Batching",
    "Command",
    "Model",
    "OpenAI",
    "Recorded",
    "Recording",
    "Said",
    "Scripted",
    "Silent",
    "Spoken",
    "script",
    "without",
]
