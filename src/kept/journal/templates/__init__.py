"""Load the templates of entries. A template is Markdown with ``{{slots}}``, either built in or the user's own.

Its front matter may have ``span`` (day or week), ``extract`` (yes or no) and ``instruction`` (what kind of text a model should
write).
"""

from importlib.resources import files
from pathlib import Path

from kept.core.errors import ConfigError, UsageError
from kept.journal.entry import Template

_TEMPLATE_CHARS = 100_000
_KNOWN = frozenset({"span", "extract", "instruction"})


def list_templates(config: Path) -> tuple[str, ...]:
    """The names of all templates. ``config`` is the folder of the user's settings."""
    own = (path.stem for path in (config / "templates").glob("*.md"))
    built_in = (file.name.removesuffix(".md") for file in files(__name__).iterdir() if file.name.endswith(".md"))
    return tuple(sorted({*own, *built_in}))


def load_template(name: str, config: Path) -> Template:
    """Load a template by its name. A template of the user's takes precedence over a built-in one.

    ``config`` is the settings folder. Raises UsageError if there is none, and ConfigError if it cannot be read.
    """
    known = list_templates(config)
    if name not in known:
        raise UsageError(
            f"there is no template {name!r}", hint=f"templates: {', '.join(known)}; your own are in {config / 'templates'}"
        )
    own = config / "templates" / f"{name}.md"
    try:
        text = own.read_text("utf-8") if own.is_file() else (files(__name__) / f"{name}.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the template cannot be read: {error}", where=str(own)) from error
    return _parse_template(name, text, str(own))


def _parse_template(name: str, text: str, where: str) -> Template:
    if len(text) > _TEMPLATE_CHARS:
        raise ConfigError(f"the template has more than {_TEMPLATE_CHARS:,} characters", where=where)
    lines = text.splitlines()
    values: dict[str, str] = {}
    if lines and lines[0].strip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
        if end is None:
            raise ConfigError("the front matter of the template has no end", where=where, hint="close it with ---")
        for line in lines[1:end]:
            key, colon, value = line.partition(":")
            if line.strip() and (not colon or key.strip() not in _KNOWN):
                raise ConfigError(f"unknown setting {key.strip()!r}", where=where, hint=f"settings: {', '.join(sorted(_KNOWN))}")
            values[key.strip()] = value.strip().strip('"')
        lines = lines[end + 1 :]
    span, extract = values.get("span", "day"), values.get("extract", "no")
    if span not in ("day", "week") or extract not in ("yes", "no"):
        raise ConfigError("span is day or week, extract is yes or no", where=where)
    return Template(
        name=name, text="\n".join(lines).strip("\n"), span=span, extract=extract == "yes", instruction=values.get("instruction", "")
    )
