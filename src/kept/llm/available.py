"""Which programs and servers on this machine could answer as a language model. Asks none of them anything but what it has."""

import json
import shlex
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from kept.core.value import dataclass, field
from kept.local.settings import LlmSettings

PROGRAMS: Mapping[str, tuple[str, str]] = {  # what a program is called, and the model it is asked for (empty: its own choice)
    "claude": ("Claude Code", "claude-haiku-5-5"),
    "codex": ("Codex", ""),
    "gemini": ("Gemini CLI", ""),
}
SERVERS: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
NOWHERE = "nothing leaves this machine"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_CLOUD = "cloud"  # how models are called that Ollama only passes on
OLLAMA_URL = f"http://127.0.0.1:{SERVERS['Ollama']}"
_SECONDS = 0.3
_MOST = 1_000_000  # bytes of a list of models


@dataclass(frozen=True, kw_only=True, slots=True)
class AvailableModel:
    """A model that could be asked: what it is called, the settings that have it asked, whether nothing leaves this machine."""

    title: str
    settings: Mapping[str, str] = field(default_factory=dict)
    local: bool = False

    @property
    def reach(self) -> str:
        """How far what is asked goes, in words."""
        return NOWHERE if self.local else "what is asked goes to its provider"


def tell_reach(chosen: LlmSettings) -> str:
    """Who gets what the model of the settings is asked, in words."""
    if chosen.adapter == "command":
        return f"what is asked goes to the program {chosen.command}, and to whom that hands it on"
    address = chosen.base_url or (OLLAMA_URL if chosen.adapter == "ollama" else "")
    host = urlsplit(address).hostname or ""
    local = host in LOOPBACK and not chosen.model.endswith(_CLOUD)
    whose = {"openai": "OpenAI", "anthropic": "Anthropic"}.get(chosen.adapter, chosen.adapter)
    elsewhere = "the cloud behind it" if host in LOOPBACK else host or whose
    return NOWHERE if local else f"what is asked goes to {elsewhere}"


def find_models(env: Mapping[str, str]) -> tuple[AvailableModel, ...]:
    """What could be asked: the known programs on the path, and the servers on this machine that answer."""
    return (*programs(env), *servers())


def choosing_command(chosen: Mapping[str, str]) -> str:
    """The commands that make settings hold."""
    return " && ".join(f"kept config set {name} {shlex.quote(value)}" for name, value in chosen.items() if value)


def programs(env: Mapping[str, str]) -> tuple[AvailableModel, ...]:
    """The known programs on the path."""
    return tuple(
        AvailableModel(title=title, settings={"llm.adapter": "command", "llm.command": name, "llm.model": model})
        for name, (title, model) in PROGRAMS.items()
        if shutil.which(name, path=env.get("PATH"))
    )


def servers(ports: Mapping[str, int] | None = None) -> tuple[AvailableModel, ...]:
    """The servers with OpenAI's interface that answer on the loopback address and could be asked, each with its first model."""
    found, library = [], find_spec("openai") is not None
    for title, port in (SERVERS if ports is None else ports).items():
        if (library or title == "Ollama") and (model := _first_model(port)):
            settings = (
                local_settings(port, model) if library else {"llm.adapter": "command", "llm.command": "ollama", "llm.model": model}
            )
            local = not model.endswith(_CLOUD)  # Ollama hands what such a model is asked on to its maker
            found.append(AvailableModel(title=f"{title} ({model})", settings=settings, local=local))
    return tuple(found)


def local_settings(port: int, model: str) -> dict[str, str]:
    """The settings that have a server with OpenAI's interface on this machine asked for a model."""
    return {"llm.adapter": "openai", "llm.base_url": f"http://127.0.0.1:{port}/v1", "llm.model": model}


def _first_model(port: int) -> str:
    """The first model a server lists; empty where nobody listens or it speaks something else."""
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415 - it loads TLS and e-mail

    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        body = json.loads(answer.read(_MOST)) if answer.status == 200 else {}
        name = body["data"][0]["id"]
    except (OSError, HTTPException, ValueError, KeyError, IndexError, TypeError):
        return ""
    finally:
        connection.close()
    return name if isinstance(name, str) and name.isprintable() else ""
