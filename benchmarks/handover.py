"""Measure what an agent hands over: show annotated sessions as their agent would see them, and score its choices.

    python benchmarks/handover.py prepare TURNS TRANSCRIPTS --sessions 20 --seed 1 --out DIR
    python benchmarks/handover.py next DIR NN < passages
    python benchmarks/handover.py score TURNS DIR

TURNS is a folder with ``turns.jsonl`` and ``labels.jsonl``, TRANSCRIPTS a folder with the sessions they come from. ``prepare``
writes a text file for each session: the tool as ``kept mcp`` describes it, and for each turn the assistant's last words, the typed
prompt, and what the installed hooks of Claude Code answer (``kept hook session-start`` and ``user-prompt``, in a new home, with the
transcript as large as it was then). A fresh agent reads one file turn by turn and fills in the form with the same number. ``next``
first stores the lines of the form from standard input, then shows the next turn, so that nothing is chosen with hindsight.
``score`` compares the forms with the annotator's labels: a passage is right if it shares half of its words (or of the label's) with
a passage labelled ``keep`` in its turn. It scores all calls, and those that become active: unbroken typed passages that the agent
says will last. Half of the sessions have a ``keep`` of importance 3, if there are enough such sessions.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.fence import CAUSE, TOOL, estimate_token_count
from kept.extraction.rules.handover import find_doubt, propose_handed_over
from kept.mcp.schema import Alone, Kind, Lasts, Replaced, Words
from kept.profiles import load_profile

KEPT = Path(sys.executable).with_name("kept")
KINDS = get_args(get_args(Kind)[0])
MOST_TURNS = 120  # only this many turns at the start of a session are shown
FORM = """\
# Session {number}: what you hand over

# You are the coding agent of session {number}. Read {number}.txt from the top, turn by turn,
# and decide on each turn before you read the next.
# Lines in <kept>…</kept> are what your hooks put before you. For each call of `save_what_user_said` you would make, write one line:
#   the number of the turn whose prompt holds the words, a tab, kind, a tab, lasts, a tab, alone, a tab,
#   the exact words, and, where they replace what you handed over before, a tab and those words
# A passage of several lines is written on one line. Where nothing is to be handed over in the whole session, write the line: none
"""

Row = Mapping[str, Any]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def sessions_of(turns: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    sessions: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for turn in turns:
        sessions[turn["source"], turn["session"]].append(turn)
    return {key: inside[:MOST_TURNS] for key, inside in sessions.items()}


def chosen(folder: Path, count: int, seed: int) -> list[tuple[str, list[Row]]]:
    sessions = sessions_of(rows(folder / "turns.jsonl"))
    important = {row["id"] for row in rows(folder / "labels.jsonl") if row["label"] == "keep" and row["importance"] == 3}
    order = sorted(sessions)
    random.Random(seed).shuffle(order)
    telling = [key for key in order if any(turn["id"] in important for turn in sessions[key])]
    first = telling[: count // 2]
    rest = [key for key in order if key not in first]
    picked = [*first, *rest[: count - len(first)]]
    random.Random(seed).shuffle(picked)
    return [(key[1], sessions[key]) for key in picked]


def sizes(transcripts: Path, session: str, turns: Sequence[Row]) -> list[int]:
    """The size in bytes of the client's transcript before each turn, estimated from the words if the transcript is missing.

    A Markdown copy has three eighths of the size of Claude Code's records (measured), so its sizes are scaled up.
    """
    path = next((path for path in transcripts.rglob("*") if path.stem == session and path.is_file()), None)
    text, place, found = path.read_text(encoding="utf-8", errors="replace") if path else "", 0, []
    for turn in turns:
        head = turn["text"][:40]
        head = json.dumps(head, ensure_ascii=False)[1:-1] if path and path.suffix == ".jsonl" else head
        at = text.find(head, place)
        place = at if at >= 0 else place + len(turn["text"]) + len(turn["before"])
        found.append(place)
    return found if path and path.suffix == ".jsonl" else [size * 8 // 3 for size in found]


def hook(home: Path, event: str, fields: Mapping[str, Any]) -> str:
    payload = {"session_id": "replay", "cwd": str(home), "permission_mode": "default", "hook_event_name": event, **fields}
    env = {name: value for name, value in os.environ.items() if name != "KEPT_GUARD"} | {"HOME": str(home), "KEPT_HOME": str(home)}
    name = {"SessionStart": "session-start", "UserPromptSubmit": "user-prompt", "Stop": "stop"}[event]
    done = subprocess.run(
        [KEPT, "hook", name, "--client", "claude"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
        env=env,
        cwd=home,
    )
    answer = json.loads(done.stdout) if done.stdout.strip() else {}
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def replayed(home: Path, turns: Sequence[Row], grown: Sequence[int]) -> Iterator[str]:
    """The answers of the hooks at the start of a session and for each of its prompts."""
    transcript = home / "transcript.jsonl"
    transcript.write_bytes(b"")
    yield hook(home, "SessionStart", {"source": "startup", "transcript_path": str(transcript)})
    for turn, size in zip(turns, grown, strict=True):
        os.truncate(transcript, size)
        yield hook(home, "UserPromptSubmit", {"prompt": turn["text"], "transcript_path": str(transcript)})
        hook(home, "Stop", {"stop_hook_active": False, "transcript_path": str(transcript)})


def new_home(folder: str) -> Path:
    """A home with an empty store."""
    home = Path(folder)
    env = {**os.environ, "HOME": str(home), "KEPT_HOME": str(home)}
    subprocess.run([KEPT, "run", "--no-llm", "--quiet"], check=True, env=env, cwd=home, stdout=subprocess.DEVNULL)
    return home


def describe_tool() -> str:
    """The description of the tool, as an agent's client lists it."""
    given = (("text", Words), ("kind", Kind), ("lasts", Lasts), ("alone", Alone), ("replaces", Replaced))
    return "\n".join([f"[a tool you have] {TOOL}", *(f"  {name}: {get_args(kind)[1].description}" for name, kind in given)])


def prepare(args: argparse.Namespace) -> None:
    args.out.mkdir(parents=True, exist_ok=True)
    key = []
    for number, (session, turns) in enumerate(chosen(args.turns, args.sessions, args.seed), 1):
        name = f"{number:02}"
        with tempfile.TemporaryDirectory() as folder:
            start, *lines = replayed(new_home(folder), turns, sizes(args.transcripts, session, turns))
        parts = [f"session {name}", describe_tool(), f"[hook, at the start]\n{start}"]
        for place, (turn, line) in enumerate(zip(turns, lines, strict=True), 1):
            parts.append(f"--- turn {place} " + "-" * 60)
            parts += [f"[you said last]\n{turn['before']}"] if turn["before"] else []
            parts.append(f"[the user types]\n{turn['text']}")
            parts += [f"[hook]\n{line}"] if line else []
        (args.out / f"{name}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        (args.out / f"{name}.form.txt").write_text(FORM.format(number=name), encoding="utf-8")
        spent = [estimate_token_count(line) if line else 0 for line in lines]
        key.append({"session": name, "turns": [turn["id"] for turn in turns], "start": estimate_token_count(start), "spent": spent})
    (args.out / "key.json").write_text(json.dumps(key), encoding="utf-8")
    count = sum(len(session["turns"]) for session in key)
    reminded = sum(1 for session in key for tokens in session["spent"] if tokens)
    print(
        f"{len(key)} sessions, {count} turns, {reminded} reminded: {args.out}/NN.txt and NN.form.txt (key.json is not for "
        "the agents)"
    )


def show_next(args: argparse.Namespace) -> None:
    text, form_of, state = (args.out / f"{args.session}.{ending}" for ending in ("txt", "form.txt", "at"))
    start, *turns = re.split(r"(?m)^(?=--- turn \d+ -+$)", text.read_text(encoding="utf-8"))
    shown = int(state.read_text()) if state.exists() else 0
    with form_of.open("a", encoding="utf-8") as file:
        for line in "" if sys.stdin.isatty() else sys.stdin:
            if call_of(line, shown):
                file.write(f"{line.rstrip()}\n")
            elif line.strip():
                sys.exit(f"not noted (number of a turn that was shown, kind, lasts, alone, words, joined by tabs): {line!r}")
    if shown == len(turns):
        print(f"session {args.session} is over")
        return
    print(f"{'' if shown else start}{turns[shown]}[{shown + 1} of {len(turns)} turns shown]")
    state.write_text(str(shown + 1))


class Handed(NamedTuple):
    """A passage that the agent handed over, with its turn and the agent's answers about it."""

    turn: str
    words: str
    kind: str
    lasts: str
    alone: str


def call_of(line: str, shown: int) -> tuple[int, str, str, str, str] | None:
    """Parse the turn, kind, lasts, alone and words of a line of a form; None for any other line.

    An agent without the tool gives only the turn and the words, those of its line ``kept: "words"``.
    """
    number, *rest = line.strip().split("\t")
    if len(rest) == 1 and number.isdigit() and 0 < int(number) <= shown:
        return int(number), "", "", "", rest[0].strip("\"'“”")
    if not number.isdigit() or not 0 < int(number) <= shown or len(rest) not in (4, 5) or not rest[3].strip():
        return None
    kind, lasts, alone, words = (part.strip() for part in rest[:4])
    known = kind in KINDS and lasts in ("yes", "maybe", "no") and alone in ("yes", "no")
    return (int(number), kind, lasts, alone, words.strip("\"'“”")) if known else None


def is_answered(path: Path) -> bool:
    return any(line.strip() and not line.startswith("#") for line in path.read_text(encoding="utf-8").splitlines())


def answers(path: Path, turns: Sequence[str]) -> Iterator[Handed]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if call := call_of(line, len(turns)):
            number, kind, lasts, alone, words = call
            yield Handed(turns[number - 1], words, kind, lasts, alone)


def form(text: str) -> str:
    return " ".join(re.sub(r"[`*_\"'’‘“”]", "", text).split()).lower()


def alike(left: str, right: str) -> bool:
    ours, theirs = set(form(left).split()), set(form(right).split())
    return len(ours & theirs) >= 0.5 * max(1, min(len(ours), len(theirs)))


def score(args: argparse.Namespace) -> None:
    texts = {turn["id"]: turn for turn in rows(args.turns / "turns.jsonl")}
    labels: dict[str, list[Row]] = defaultdict(list)
    for row in rows(args.turns / "labels.jsonl"):
        labels[row["id"]].append(row)
    key = json.loads((args.out / "key.json").read_text(encoding="utf-8"))
    answered = [session for session in key if is_answered(args.out / f"{session['session']}.form.txt")]
    handed = [passage for session in answered for passage in answers(args.out / f"{session['session']}.form.txt", session["turns"])]
    keeps = [(turn, row) for session in answered for turn in session["turns"] for row in labels[turn] if row["label"] == "keep"]

    def is_right(passage: Handed) -> bool:
        return any(row["label"] == "keep" and alike(passage.words, row["quote"]) for row in labels[passage.turn])

    lasting = [passage for passage in handed if not find_doubt(passage.kind, passage.lasts, "yes")]
    active = [passage for passage in handed if is_certain(passage, texts[passage.turn])]
    turns = sum(len(session["turns"]) for session in answered)
    reminded = sum(1 for session in answered for tokens in session["spent"] if tokens)
    spent = sum(session["start"] + sum(session["spent"]) for session in answered)
    called = sum(estimate_token_count(passage.words) for passage in handed)
    print(f"{len(answered)} sessions, {turns} turns")
    for name, chosen_ones in (("handed over", handed), ("said to last", lasting), ("active", active)):
        count = sum(map(is_right, chosen_ones))
        print(f"{name}: {len(chosen_ones)}, right {count} ({_share(count, len(chosen_ones))})")
        for level in (3, 2, 1):
            wanted = [(turn, row) for turn, row in keeps if row["importance"] == level]
            got = [1 for turn, row in wanted if any(each.turn == turn and alike(each.words, row["quote"]) for each in chosen_ones)]
            print(f"  importance {level}: {len(got)} of {len(wanted)} ({_share(len(got), len(wanted))})")
    print(f"{reminded} reminders; {spent:,} tokens put in by hooks, {called:,} tokens of passages")
    for passage in handed if args.show else ():
        if not is_right(passage):
            print(f"  not kept by the annotator: {passage.words[:160]}")
    for turn, row in keeps if args.show else ():
        if row["importance"] == 3 and not any(passage.turn == turn and alike(passage.words, row["quote"]) for passage in handed):
            print(f"  missed: {row['quote'][:160]}")


def is_certain(passage: Handed, turn: Row) -> bool:
    """True if kept would make the words active: it reads the turn as a transcript in which the agent hands them over."""
    target = json.dumps(
        {"text": passage.words, "kind": passage.kind, "lasts": passage.lasts, "alone": passage.alone}, ensure_ascii=False
    )
    said = (
        (EventKind.RESPONSE, Author.ASSISTANT, turn["before"], None),
        (EventKind.PROMPT, Author.HUMAN, turn["text"], None),
        (EventKind.TOOL_CALL, Author.ASSISTANT, target, ToolUse(name=f"mcp__kept__{TOOL}", target=target)),
    )
    events = [
        Event(
            key=str(place),
            twin="",
            session="replay",
            record="",
            parent="",
            turn="",
            kind=kind,
            author=author,
            label_reason="",
            text=text,
            at=None,
            precision=Precision.NONE,
            project="",
            branch="",
            tool=tool,
            pointer=Pointer(path="", line=place, start=0, end=0),
        )
        for place, (kind, author, text, tool) in enumerate(said)
    ]
    made = propose_handed_over(events, 0, len(events), profile=load_profile("coding"), scope="project:replay")
    return any(candidate.trigger == CAUSE and candidate.confidence > 0.9 for candidate in made)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("prepare")
    first.add_argument("turns", type=Path)
    first.add_argument("transcripts", type=Path)
    first.add_argument("--sessions", type=int, default=20)
    first.add_argument("--seed", type=int, default=1)
    first.add_argument("--out", type=Path, required=True)
    first.set_defaults(act=prepare)
    turn = commands.add_parser("next")
    turn.add_argument("out", type=Path)
    turn.add_argument("session")
    turn.set_defaults(act=show_next)
    second = commands.add_parser("score")
    second.add_argument("turns", type=Path)
    second.add_argument("out", type=Path)
    second.add_argument("--show", action="store_true")
    second.set_defaults(act=score)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()
