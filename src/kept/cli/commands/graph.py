"""``kept graph``: the people, projects, files and tools that memories name, and how they are connected."""

from collections import defaultdict
from collections.abc import Iterator

from kept.cli.command_support import command_workspace
from kept.cli.console import Line, format_count, hanging_line, line, to_safe_line, write_json, write_lines, write_text
from kept.cli.registry import GlobalOptions
from kept.core.codec import json_fields
from kept.memories.browse import find_project
from kept.outputs.graph import EdgeKind, Graph, NodeKind, build_knowledge_graph

_SHAPES = {NodeKind.YOU: "doublecircle", NodeKind.PROJECT: "box", NodeKind.ENTITY: "ellipse", NodeKind.RESOURCE: "note"}
_SHOWN = 40  # maximum nodes in a printed list; --json has all
_TIES = 5


def graph(call: GlobalOptions, *, project: str = "", most: int = 1_000, dot: bool = False, as_json: bool = False) -> None:
    """Show the people, projects, files and tools that memories name, and their connections."""
    with command_workspace(call) as workspace:
        found = build_knowledge_graph(workspace, project=find_project(workspace, project), most=most)
    if as_json:
        write_json(json_fields(found, "nodes", "edges", "left_out"))
    elif dot:
        write_text(_format_dot(found))
    else:
        write_lines(_format_graph(found))


def _format_graph(graph: Graph) -> Iterator[Line]:
    labels = {node.id: node.label for node in graph.nodes}
    ties: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for edge in graph.edges:
        if edge.kind is EdgeKind.TOGETHER:
            ties[edge.source].append((-edge.weight, labels[edge.target]))
            ties[edge.target].append((-edge.weight, labels[edge.source]))
    things = [node for node in graph.nodes if node.kind is not NodeKind.MEMORY]
    for thing in things[:_SHOWN]:
        others = ", ".join(label for _, label in sorted(ties[thing.id])[:_TIES])
        text = f"  {format_count(int(thing.weight), 'memory')}{f'; with {others}' if others else ''}"
        yield hanging_line([(f"  {thing.kind.value:<9}", "cyan")], thing.label, (text, "dim"))
    if not things:
        yield line("Nothing is remembered yet.", " → kept run")
        return
    more = [f"{format_count(len(things) - _SHOWN, 'thing')} more"] if len(things) > _SHOWN else []
    memories = sum(node.kind is NodeKind.MEMORY for node in graph.nodes)
    left = [f"{format_count(count, kind.value)} left out" for kind, count in sorted(graph.left_out.items())]
    yield line(("; ".join([format_count(memories, "memory"), *more, *left]) + "  → kept graph --json", "dim"))


def _format_dot(graph: Graph) -> str:
    lines = ["graph kept {", "  overlap=false;"]
    for node in graph.nodes:
        shape = _SHAPES.get(node.kind, "plaintext")
        lines.append(f"  {_quote_dot(node.id)} [label={_quote_dot(node.label[:60])}, shape={shape}];")
    lines += [f"  {_quote_dot(edge.source)} -- {_quote_dot(edge.target)} [weight={edge.weight}];" for edge in graph.edges]
    return "\n".join([*lines, "}", ""])


def _quote_dot(text: str) -> str:
    """Quote a text for Graphviz, on one line."""
    plain = to_safe_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'
