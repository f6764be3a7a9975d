"""Adapters to language models, all with the protocol :class:`Model`: a program, two vendors' APIs, Ollama, a script, a recording.

An adapter asks once and returns the result. Retries, stored replies, costs and checks of replies are implemented once, above it.
"""

from kept.llm.adapters.anthropic import Anthropic
from kept.llm.adapters.base import AdapterFailure, AdapterReply, BatchModel, Model, Spoken
from kept.llm.adapters.command import Command
from kept.llm.adapters.ollama import Ollama
from kept.llm.adapters.openai import OpenAI
from kept.llm.adapters.recorded import RecordingModel, ReplayModel, ScriptedModel, load_script, remove_recorded_replies

__all__ = [
    "AdapterFailure",
    "AdapterReply",
    "Anthropic",
    "BatchModel",
    "Command",
    "Model",
    "Ollama",
    "OpenAI",
    "RecordingModel",
    "ReplayModel",
    "ScriptedModel",
    "Spoken",
    "load_script",
    "remove_recorded_replies",
]
