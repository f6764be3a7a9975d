"""Reads SQL files of named queries. Hooks import this module, so it must load fast."""


def parse_queries(text: str) -> dict[str, str]:
    """The queries of an SQL file, by name, without comments.

    A line ``-- name: NAME`` begins a query. A line ``-- part: NAME`` begins a text that later queries insert as ``{NAME}``.
    """
    queries: dict[str, list[str]] = {}
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(("-- name: ", "-- part: ")):
            named = queries if line.startswith("-- name: ") else parts
            lines = named.setdefault(line[9:], [])
        elif line and not line.startswith("--"):
            lines.append(line)
    texts = {name: "\n".join(body) for name, body in parts.items()}
    return {name: "\n".join(body).format(**texts) if texts else "\n".join(body) for name, body in queries.items()}
