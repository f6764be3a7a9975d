"""JSON objects of transcripts, whose fields may be missing or have any type, and counts for the account of a file."""

from string import ascii_letters
from typing import Any

from kept.core.digest import hash_texts

_SAFE_CHARACTERS = frozenset(f"{ascii_letters}-_.")
_PATH_LIMIT = 4096
NAME_LIMIT = 128


class Fields(dict[str, Any]):
    """A JSON object. Each method reads a field as one type, and returns an empty value if the field has another one."""

    __slots__ = ()

    def mapping(self, name: str) -> "Fields":
        """The object in a field."""
        value = self.get(name)
        return value if isinstance(value, Fields) else Fields()

    def mappings(self, name: str) -> list["Fields"]:
        """The items of a list as objects."""
        value = self.get(name)
        return [item if isinstance(item, Fields) else Fields() for item in value] if isinstance(value, list) else []

    def parts(self, name: str = "content") -> list["Fields"]:
        """The parts of a message's content. A plain string is one text part."""
        return list_parts(self.get(name))

    def text(self, name: str) -> str:
        """The text of a string, or of a list of strings and text blocks."""
        value = self.get(name)
        return value.strip() if isinstance(value, str) else content_text(value)

    def name(self, name: str) -> str:
        """A name or an id, of bounded length."""
        value = self.get(name)
        return value if isinstance(value, str) and len(value) <= NAME_LIMIT else truncate_name(value)

    def path(self, name: str) -> str:
        """A path or a branch, of bounded length."""
        return truncate_path(self.get(name))

    def word(self, name: str) -> str:
        """A word that is safe to use in a reason."""
        return safe_word(self.get(name))


class Notes(dict[str, int]):
    """Counts for the account, such as of blocks removed from a record."""

    __slots__ = ()

    def __missing__(self, note: str) -> int:
        return 0


def content_text(content: Any) -> str:
    """The text of a string, or of a list of strings and text blocks, stripped of white space at both ends."""
    match content:
        case str():
            return content.strip()
        case list():
            texts = (item.get("text") if isinstance(item, dict) else item for item in content)
            return "\n".join(text for text in texts if isinstance(text, str)).strip()
        case _:
            return ""


def list_parts(content: Any) -> list[Fields]:
    """A message's content as a list of parts. A plain string is one text part."""
    listed = content if isinstance(content, list) else [content]
    if not [part for part in listed if type(part) is not Fields]:
        return listed
    parts = (Fields(type="text", text=part) if isinstance(part, str) else part for part in listed)
    return [part for part in parts if isinstance(part, Fields)]


def truncate_name(value: Any, limit: int = NAME_LIMIT) -> str:
    """A name of bounded length: a longer one is truncated and gets a hash."""
    if not isinstance(value, str):
        return ""
    return value if len(value) <= limit else f"{value[: limit - 33]}~{hash_texts(value)}"


def truncate_path(value: Any) -> str:
    """A path of bounded length."""
    return truncate_name(value, _PATH_LIMIT)


def safe_word(value: Any) -> str:
    """A word from a file, safe to use in a reason. A long word or one with digits becomes ``odd``, because it may be a secret."""
    if not isinstance(value, str) or not value:
        return "none"
    return value if len(value) <= 40 and _SAFE_CHARACTERS.issuperset(value) and value.strip("-_.") else "odd"
