"""Saved terminal screens: draw sessions as the clients do, read them back, and compare the person's prompts.

Usage: python benchmarks/console.py FOLDER… [--columns N…] [--show N] [--large MB]

Each Claude Code session (and each Codex rollout, on Codex's screen) in the folders is drawn at several widths and in the styles of
several versions: with ``>`` and ``❯``, padded rows, trimmed and untrimmed wraps, boxes, rules, spinners, shortened results. The
drawing code shares nothing with the reader. A prompt counts if its words come back exactly; its text counts if the line breaks do
too. ``--large MB`` also reads a screen of that size, to measure time and memory.
"""

import argparse
import resource
import tempfile
import textwrap
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kept.core.event import Author, Cursor, Event, EventKind, RecordAccount
from kept.local.files.walking import find_files
from kept.sources.registry import SkippedFile, identify_file

COLUMNS = (80, 100, 120, 160)
SHOWN_LINES = 3


@dataclass(frozen=True, kw_only=True)
class Style:
    """How a version draws: its glyphs, and whether it pads prompts, drops the space at a wrap, and breaks words at hyphens."""

    name: str
    prompt: str
    action: str
    result: str
    padded: bool = False
    trimmed: bool = True
    hyphens: bool = False
    barred: bool = False


CLAUDE = (
    Style(name="claude 1", prompt="> ", action="⏺ ", result="  ⎿  ", trimmed=False),
    Style(name="claude 1, Linux", prompt="> ", action="● ", result="  ⎿  "),
    Style(name="claude 2", prompt="❯ ", action="⏺ ", result="  ⎿  ", padded=True),
)
CODEX = (
    Style(name="codex", prompt="› ", action="• ", result="  └ ", hyphens=True),
    Style(name="codex 0.2", prompt="▌ ", action="• ", result="  └ ", hyphens=True, barred=True),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--columns", type=int, nargs="+", default=list(COLUMNS))
    parser.add_argument("--show", type=int, default=0, help="show so many prompts that came back in other words")
    parser.add_argument("--large", type=int, default=0, help="also read a screen of so many megabytes")
    options = parser.parse_args()
    drawn: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'style':16} {'columns':>7} {'sessions':>8} {'unread':>6} {'prompts':>7} {'words':>7} {'text':>7} {'invented':>8}")
        totals: Counter[str] = Counter()
        for style in (*CLAUDE, *CODEX):
            sessions = list(sessions_of(options.folders, "codex" if style in CODEX else "claude-code"))
            for columns in options.columns:
                counts: Counter[str] = Counter()
                for number, events in enumerate(sessions):
                    screen = draw(events, style, columns)
                    drawn.append(screen if len(drawn) < 200 else "")
                    counts += compare(events, screen, Path(folder) / f"2026-02-03-{number}.txt", style, options)
                totals += counts
                print(
                    f"{style.name:16} {columns:7} {counts['sessions']:8} {counts['unread']:6} {counts['prompts']:7} "
                    f"{counts['words'] / max(1, counts['prompts']):7.2%} {counts['text'] / max(1, counts['prompts']):7.2%} "
                    f"{counts['invented']:8}",
                    flush=True,
                )
        share = totals["words"] / max(1, totals["prompts"])
        print(
            f"all: {totals['words']} of {totals['prompts']} prompts in their exact words ({share:.2%}), {totals['invented']} "
            "invented"
        )
        if options.large:
            large(Path(folder) / "2026-02-03-large.txt", drawn, options.large)


def sessions_of(folders: list[Path], name: str) -> Iterator[list[Event]]:
    """The events of each session of a client that contains a prompt."""
    for folder in folders:
        for path in find_files(folder):
            found = identify_file(path)
            if not isinstance(found, SkippedFile) and found.name == name:
                events = [event for part in found.read(path, Cursor()) for event in part.events]
                events = [event for event in events if event.author in (Author.HUMAN, Author.ASSISTANT, Author.TOOL)]
                if any(is_prompt(event) for event in events):
                    yield events


def is_prompt(event: Event) -> bool:
    return (
        event.kind is EventKind.PROMPT
        and event.author is Author.HUMAN
        and bool(clean(event.text))
        and event.label_reason != "answer"
    )


def compare(events: list[Event], screen: str, path: Path, style: Style, options: argparse.Namespace) -> Counter[str]:
    path.write_text(screen, encoding="utf-8")
    found = identify_file(path)
    wanted = [clean(event.text) for event in events if is_prompt(event)]
    counts = Counter(sessions=1, prompts=len(wanted))
    if isinstance(found, SkippedFile) or found.name != "console":
        return counts + Counter(unread=1)
    read = [event for part in found.read(path, Cursor()) for event in part.events]
    texts = [event.text for event in read if event.author is Author.HUMAN and event.kind is EventKind.PROMPT]
    words, exact = Counter(" ".join(text.split()) for text in texts), Counter(texts)
    for text in wanted:
        key = " ".join(text.split())
        if words[key]:
            words[key] -= 1
            counts["words"] += 1
        elif options.show > 0:
            options.show -= 1
            print(
                f"--- {style.name}, {path.name}\n{text}\n--- read as one "
                f"of\n{sorted(words.keys(), key=lambda other: -likeness(key, other))[:1]}"
            )
        if exact[text]:
            exact[text] -= 1
            counts["text"] += 1
    counts["invented"] += sum(words.values())
    return counts


def likeness(left: str, right: str) -> int:
    return len(set(left.split()) & set(right.split()))


def clean(text: str) -> str:
    """A text as a terminal shows it: without control characters, with tabs as spaces."""
    lines = "".join(each for each in text.expandtabs() if each == "\n" or unicodedata.category(each) not in ("Cc", "Cf")).split(
        "\n"
    )
    return "\n".join(line.rstrip() for line in lines).strip()


def draw(events: list[Event], style: Style, columns: int) -> str:
    """The screen of a session."""
    rows = banner(style, columns)
    for number, event in enumerate(events):
        text = clean(event.text)
        if not text:
            continue
        match event.kind:
            case EventKind.PROMPT if is_prompt(event):
                block = wrapped(text, columns - 3, style)
                lead = [style.prompt, *([style.prompt if style.barred else "  "] * (len(block) - 1))]
                drawn = [(mark + row).rstrip() for mark, row in zip(lead, block, strict=True)]
                rows += [row.ljust(columns - wide(row) + len(row)) if style.padded else row for row in drawn]
            case EventKind.RESPONSE:
                rows += hanging(style.action, wrapped(text, columns - 2, style))
            case EventKind.TOOL_CALL if event.tool:
                rows += call(event, style, columns)
                continue
            case EventKind.TOOL_OUTPUT:
                rows += result(text, style, columns)
            case _:
                continue
        rows.append("")
        if number % 7 == 3:
            rows += spinner(style, number)
    return "\n".join([*rows, *composer(style, columns)])


def banner(style: Style, columns: int) -> list[str]:
    if style in CODEX:
        return [
            "╭──────────────────────────────╮",
            "│ >_ OpenAI Codex (v0.120.0)   │",
            "│ directory: /work/project     │",
            "╰──────────────────────────────╯",
            "",
        ]
    if style.padded:
        return [" ▐▛███▜▌   Claude Code v2.1.123", "▝▜█████▛▘  Opus 4.7 · Claude Max", "  ▘▘ ▝▝    /work/project", ""]
    side = min(columns, 60) - 2
    texts = ("✻ Welcome to Claude Code!", "", "  /help for help, /status for your current setup", "", "  cwd: /work/project")
    return ["╭" + "─" * side + "╮", *(f"│ {text:{side - 2}} │" for text in texts), "╰" + "─" * side + "╯", ""]


def spinner(style: Style, number: int) -> list[str]:
    if style in CODEX:
        return ["─" * 60, "", "• Working (12s • esc to interrupt)", ""]
    return [
        ("✻ Churned for 20s", "✶ Brewing… (esc to interrupt · 12s · ↓ 1.2k tokens)", "· Pondering… (8s · ↑ 300 tokens)")[
            number % 3
        ],
        "",
    ]


def composer(style: Style, columns: int) -> list[str]:
    if style in CODEX:
        return ["", "› Summarize recent commits", "", "  gpt-5.4 default · /work/project", ""]
    if style.padded:
        return ["─" * columns, '❯ Try "fix the typecheck errors"', "─" * columns, "  ⏵⏵ accept edits on (shift+tab to cycle)"]
    return ["╭" + "─" * (columns - 2) + "╮", f"│ > {'':{columns - 6}} │", "╰" + "─" * (columns - 2) + "╯", "  ? for shortcuts"]


def call(event: Event, style: Style, columns: int) -> list[str]:
    assert event.tool
    target = clean(event.tool.target)[:300]
    if style in CODEX:
        block = wrapped(f"Ran {target}", columns - 4, style)
        return [f"• {block[0]}", *(f"  │ {row}" for row in block[1:])]
    block = wrapped(f"{event.tool.name}({target})", columns - 6, style)
    return [style.action + block[0], *(f"      {row}" for row in block[1:])]


def result(text: str, style: Style, columns: int) -> list[str]:
    lines = text.split("\n")
    block = [row for line in lines[:SHOWN_LINES] for row in wrapped(line, columns - 6, style)][: 2 * SHOWN_LINES]
    if len(lines) > SHOWN_LINES:
        hint = "ctrl + t to view transcript" if style in CODEX else "ctrl+o to expand"
        block.append(f"… +{len(lines) - SHOWN_LINES} lines ({hint})")
    return hanging(style.result, block)


def hanging(mark: str, block: list[str]) -> list[str]:
    return [(mark + block[0]).rstrip(), *((" " * len(mark) + row).rstrip() for row in block[1:])]


def wrapped(text: str, columns: int, style: Style) -> list[str]:
    """The lines of a text, wrapped as the client does."""
    if style.hyphens:
        wrapper = textwrap.TextWrapper(columns, break_on_hyphens=True, drop_whitespace=True, replace_whitespace=False)
        return [row for line in text.split("\n") for row in (wrapper.wrap(line) or [""])]
    return [row for line in text.split("\n") for row in wrap_words(line, columns, trimmed=style.trimmed)]


def wrap_words(line: str, columns: int, *, trimmed: bool) -> list[str]:
    """Break a line before words that do not fit, and inside words that are longer than a row."""
    rows, row = [], ""
    for number, whole in enumerate(line.split(" ")):
        space, word = " " if number else "", whole
        if wide(row + space + word) <= columns:
            row += space + word
            continue
        if row:
            rows.append(row)
            row = "" if trimmed else space
        while wide(row + word) > columns:
            room = columns - wide(row)
            cut = next((end for end in range(len(word), 0, -1) if wide(word[:end]) <= room), 1)
            rows.append(row + word[:cut])
            row, word = "", word[cut:]
        row += word
    return [*rows, row]


def wide(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in text)


def large(path: Path, drawn: list[str], megabytes: int) -> None:
    """Read a long screen, made of the drawn ones until it is large enough."""
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * 2**20:
            for screen in drawn:
                file.write(screen + "\n")
                if file.tell() >= megabytes * 2**20:
                    break
    found = identify_file(path)
    assert not isinstance(found, SkippedFile)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    account = RecordAccount()
    for part in found.read(path, Cursor()):
        account += part.account
    seconds = time.process_time() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = path.stat().st_size / 2**20
    print(
        f"{size:.0f} MB as {found.name}: {seconds:.1f} s ({size / seconds:.1f} MB/s), {account.records} records, "
        f"{account.events} events, "
        f"peak memory {after / 1024:.0f} MB ({(after - before) / 1024:.0f} MB more than before)"
    )


if __name__ == "__main__":
    main()
