"""Find the programs and servers on this machine that can run a language model. Asks servers only for their list of models."""

import json
import shlex
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

from kept.core.value import dataclass, field
from kept.local.settings import LlmSettings

PROGRAMS: Mapping[str, tuple[str, str]] = {  # title of a program, and the model requested from it (empty: its own default)
    "claude": ("Claude Code", "claude-haiku-5-5"),
    "codex": ("Codex", ""),
    "gemini": ("Gemini CLI", ""),
}
SERVERS: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
NOWHERE = "nothing leaves this machine"
_CLOUD = "cloud"  # suffix of Ollama models that run in the cloud
OLLAMA_URL = f"http://127.0.0.1:{SERVERS['Ollama']}"
_SECONDS = 0.3
_MOST = 1_000_000  # maximum size of a server's list of models, in bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class AvailableModel:
    """A model that is available: its title, the settings that select it, and whether all text stays on this machine."""

    title: str
    settings: Mapping[str, str] = field(default_factory=dict)
    local: bool = False

    @property
    def reach(self) -> str:
        """A phrase that says where questions are sent."""
        return NOWHERE if self.local else "questions go to its provider"


def describe_reach(chosen: LlmSettings) -> str:
    """Return a phrase that says who receives the questions."""
    if chosen.adapter == "command":
        return f"questions go to the program {chosen.command}, and to the provider that it uses"
    address = chosen.base_url or (OLLAMA_URL if chosen.adapter == "ollama" else "")
    if is_on_this_machine(address):
        return "questions go to its cloud" if chosen.model.endswith(_CLOUD) else NOWHERE
    vendor = {"openai": "OpenAI", "anthropic": "Anthropic"}.get(chosen.adapter, chosen.adapter)
    return f"questions go to {urlsplit(address).hostname or vendor}"


def is_on_this_machine(url: str) -> bool:
    """True if a URL is on this machine. Requests to it bypass proxies, because nothing may leave the machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def find_models(env: Mapping[str, str]) -> tuple[AvailableModel, ...]:
    """Find the available models: the known programs on the PATH, and the servers that respond on this machine."""
    return (*find_programs(env), *find_servers())


def format_config_commands(settings: Mapping[str, str]) -> str:
    """The shell commands that apply settings."""
    return " && ".join(f"kept config set {name} {shlex.quote(value)}" for name, value in settings.items() if value)


def find_programs(env: Mapping[str, str]) -> tuple[AvailableModel, ...]:
    """Find the known programs on the PATH."""
    return tuple(
        AvailableModel(title=title, settings={"llm.adapter": "command", "llm.command": name, "llm.model": model})
        for name, (title, model) in PROGRAMS.items()
        if shutil.which(name, path=env.get("PATH"))
    )


def find_servers(ports: Mapping[str, int] | None = None) -> tuple[AvailableModel, ...]:
    """Find the servers with OpenAI's API that respond on the loopback address, each with its first model."""
    models, library = [], find_spec("openai") is not None
    for title, port in (SERVERS if ports is None else ports).items():
        if (library or title == "Ollama") and (model := _first_model(port)):
            settings = (
                local_settings(port, model) if library else {"llm.adapter": "command", "llm.command": "ollama", "llm.model": model}
            )
            local = not model.endswith(_CLOUD)  # Ollama forwards questions to such a model to the cloud
            models.append(AvailableModel(title=f"{title} ({model})", settings=settings, local=local))
    return tuple(models)


def local_settings(port: int, model: str) -> dict[str, str]:
    """The settings for a model of a server with OpenAI's API on this machine."""
    return {"llm.adapter": "openai", "llm.base_url": f"http://127.0.0.1:{port}/v1", "llm.model": model}


def _first_model(port: int) -> str:
    """The first model that a server lists. Empty if there is no server or its response is invalid."""
    from urllib.request import Request  # noqa: PLC0415 - loads TLS and e-mail

    from kept.local.fetching import fetch  # noqa: PLC0415 - as above

    try:
        response = fetch(Request(f"http://127.0.0.1:{port}/v1/models"), seconds=_SECONDS, most=_MOST, proxies=False)
        name = json.loads(response.data)["data"][0]["id"]
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) and name.isprintable() else ""
