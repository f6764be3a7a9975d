"""Language models, each behind one protocol (:class:`Model`): a program, two vendors' interfaces, a script, a recording.

An adapter asks once and tells what came. It does not retry, remember, count money or check replies: that exists once, above it.
"""

from kept.llm.adapters.anthropic import Anthropic
from kept.llm.adapters.base import Batching, Model, Said, Silent, Spoken
from kept.llm.adapters.command import Command
from kept.llm.adapters.ollama import Ollama
from kept.llm.adapters.openai import OpenAI
from kept.llm.adapters.recorded import Recorded, Recording, without
from kept.llm.adapters.scripted import Scripted, script

__all__ = [
    "Anthropic",
    "Batching",
    "Command",
    "Model",
    "Ollama",
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
