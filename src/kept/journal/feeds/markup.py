"""XML of a stranger: a small tree, made without document types, so no entity is ever declared, let alone expanded."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from kept.core.errors import SourceError

_DEPTH, _NODES = 100, 400_000


@dataclass(kw_only=True, slots=True)
class XmlNode:
    """An element: its name without prefix, its attributes, its own text, what stands in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list["XmlNode"] = field(default_factory=list)

    def walk(self) -> Iterator["XmlNode"]:
        """This element and all below it, in order."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    def first(self, *names: str) -> str:
        """The text of the first child of one of these names that has any."""
        return next((node.text.strip() for name in names for node in self.children if node.name == name and node.text.strip()), "")


def parse_xml(data: bytes, where: str) -> XmlNode:
    """The tree of an XML document. Raises SourceError: not well formed, a document type, too deep, too large."""
    root = XmlNode(name="")
    stack = [root]
    count = 0

    def refuse(*_: object) -> None:
        raise SourceError("declares a document type, which is not read", where=where)

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) > _DEPTH or count > _NODES:
            raise SourceError("is nested too deep or too large", where=where)
        node = XmlNode(name=_local_name(name), attributes={_local_name(each): value for each, value in attributes.items()})
        stack[-1].children.append(node)
        stack.append(node)

    def end(name: str) -> None:
        del name
        node = stack.pop()
        node.text = "".join(pieces.pop(id(node), []))

    def text(data: str) -> None:
        pieces.setdefault(id(stack[-1]), []).append(data)

    pieces: dict[int, list[str]] = {}
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)  # noqa: FBT003 - the parser's own signature: this is all there is
    except expat.ExpatError as error:
        raise SourceError(f"is not well-formed XML: {expat.ErrorString(error.code)}", where=where) from error
    except (UnicodeError, ValueError, LookupError) as error:
        raise SourceError("is in an encoding that cannot be read", where=where) from error
    return root


def _local_name(name: str) -> str:
    return name.rpartition(":")[2].lower()
