"""Measure whether kept helps agents: twenty small tasks in generated repositories, each of which depends on something that an
earlier session established and that the repository does not show; with and without the text that kept's hooks add.

    python benchmarks/replay.py prepare DIR --with
    python benchmarks/replay.py prepare DIR --without
    python benchmarks/replay.py score DIR [DIR ...]

replay/tasks.toml contains the repositories, the sessions and the tasks. ``prepare`` writes the sessions as Claude Code transcripts
into a new home, installs kept's hooks there and reads the sessions (``kept setup``). It makes a folder for each task with the
repository and PROMPT.md, which contains the answers of ``kept hook session-start`` and ``user-prompt``, then the prompt, and
nothing else. For each task it prints whether its memory is stored and what shows it: the start, the prompt after it, or the prompt
of a session without such a start ("alone"). A fresh agent works on one set, task by task, from PROMPT.md alone; it does not see the
checks. ``score`` runs each task's check in a copy of its repository. In brackets: 95 % intervals.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from kept.core.fence import estimate_token_count
from kept.evaluation.retrieval import bootstrap_interval

KEPT = Path(sys.executable).with_name("kept")
TASKS = Path(__file__).with_name("replay") / "tasks.toml"
FENCE = "\n\n---\n\n"
SETTINGS = "context_meaning = true\n"  # like hooks with an embedding server
GIT = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Kim"), ("EMAIL", "kim@example.test"))
}

Row = dict[str, Any]


class Home(NamedTuple):
    """A home, with its repositories below ``work``."""

    folder: Path

    def environment(self) -> dict[str, str]:
        """The environment of a person who has only this home."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return kept | {"HOME": str(self.folder), "KEPT_HOME": str(self.folder), "GIT_CONFIG_GLOBAL": os.devnull}

    def run(self, *words: str | Path, directory: Path | None = None, given: str = "") -> str:
        """Run a command and return what it prints. Raises CalledProcessError if it fails."""
        at = directory or self.folder
        done = subprocess.run(words, input=given, capture_output=True, text=True, check=True, env=self.environment(), cwd=at)
        return done.stdout

    def hook(self, event: str, directory: Path, session: str, **fields: str) -> str:
        """The text that a hook adds to a session in a directory."""
        payload = {"session_id": session, "cwd": str(directory), "transcript_path": str(self.folder / "now.jsonl"), **fields}
        printed = self.run(KEPT, "hook", event, "--client", "claude", directory=directory, given=json.dumps(payload))
        answer = json.loads(printed) if printed.strip() else {}
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def read_tasks() -> Row:
    return tomllib.loads(TASKS.read_text(encoding="utf-8"))


def build_repository(home: Home, name: str, files: dict[str, str]) -> Path:
    folder = home.folder / "work" / name
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    person = (("config", "user.name", "Kim"), ("config", "user.email", "kim@example.test"))
    for words in (("init", "-q", "-b", "main"), *person, ("add", "-A"), ("commit", "-q", "-m", f"Start {name}")):
        home.run("git", *words, directory=folder)
    return folder


def write_session(home: Home, number: int, session: Row) -> None:
    """Write a session as a Claude Code transcript."""
    directory = home.folder / "work" / session["repository"]
    records: list[Row] = []

    def add(role: str, content: object) -> None:
        place = len(records)
        message = {"role": role, "content": content, **({"id": f"m{place}"} if role == "assistant" else {})}
        records.append(
            {
                "type": role,
                "uuid": f"{number}-{place}",
                "parentUuid": f"{number}-{place - 1}" if place else None,
                "sessionId": f"session-{number}",
                "cwd": str(directory),
                "isSidechain": False,
                "userType": "external",
                "timestamp": f"{session['day']}T10:{place:02}:00.000Z",
                "message": message,
            }
        )

    for group in grouped(session["lines"].strip().splitlines()):
        mark, text = group[0][0], "\n".join(line[2:] for line in group)
        if mark == ">":
            add("user", text)
        elif mark == "<":
            add("assistant", [{"type": "text", "text": text}])
        elif mark == "$":
            add("assistant", [{"type": "tool_use", "id": f"t{len(records)}", "name": "Bash", "input": {"command": text}}])
        else:
            failed = mark == "!"
            output = f"Exit code 1\n{text}" if failed else text
            add("user", [{"type": "tool_result", "tool_use_id": f"t{len(records) - 1}", "content": output, "is_error": failed}])
    path = home.folder / ".claude" / "projects" / str(directory).replace("/", "-") / f"session-{number}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


def grouped(lines: list[str]) -> list[list[str]]:
    """Group consecutive lines with the same mark."""
    groups: list[list[str]] = []
    for line in lines:
        if groups and groups[-1][0][0] == line[0]:
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def build_home(folder: Path, given: Row) -> Home:
    """Build a home in which the earlier sessions have been read."""
    home = Home(folder)
    for name, repository in given["repository"].items():
        build_repository(home, name, repository["files"])
    for number, session in enumerate(given["session"]):
        write_session(home, number, session)
    settings = folder / ".config" / "kept" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(SETTINGS, encoding="utf-8")
    home.run(KEPT, "setup", "--yes", "--no-schedule")  # installs the hooks of Claude Code and makes the first run
    return home


def prepare(args: argparse.Namespace) -> None:
    given = read_tasks()
    tokens = 0
    with tempfile.TemporaryDirectory() as folder:
        home = build_home(Path(folder), given)
        stored = [each["content"] for each in json.loads(home.run(KEPT, "list", "--json"))]
        for number, task in enumerate(given["task"], 1):
            repository = home.folder / "work" / task["repository"]
            out = args.folder / f"{number:02}-{task['repository']}"
            shutil.copytree(repository, out / "repository")
            start = home.hook("session-start", repository, f"now-{number}", source="startup")
            prompt = home.hook("user-prompt", repository, f"now-{number}", prompt=task["prompt"])
            alone = home.hook("user-prompt", repository, f"alone-{number}", prompt=task["prompt"])
            injected = "\n".join(filter(None, (start, prompt)))
            kept = any(task["needs"] in each for each in stored)
            brought = [
                name for name, text in (("start", start), ("prompt", prompt), ("prompt alone", alone)) if task["needs"] in text
            ]
            spent = estimate_token_count(injected)
            tokens += spent
            (out / "PROMPT.md").write_text(
                f"{injected}{FENCE}{task['prompt']}\n" if args.memory else f"{task['prompt']}\n", encoding="utf-8"
            )
            print(f"{out.name}: {'stored' if kept else 'NOT STORED'}, brought by {', '.join(brought) or 'nothing'}, {spent} tokens")
    print(f"{len(stored)} memories; {tokens / len(given['task']):.0f} tokens a task")


def is_solved(check: str, repository: Path) -> bool:
    """Whether a task's check passes in a copy of the repository as the agent left it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(repository, copy, symlinks=True)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": str(copy), "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(["sh", "-c", check], cwd=copy, env=env, capture_output=True, check=False, timeout=60)
        return done.returncode == 0


def score(args: argparse.Namespace) -> None:
    tasks = read_tasks()["task"]
    for folder in args.folders:
        outcomes, tokens = [], []
        for number, task in enumerate(tasks, 1):
            place = folder / f"{number:02}-{task['repository']}"
            outcomes.append(is_solved(task["check"], place / "repository"))
            injected, fence, _ = (place / "PROMPT.md").read_text(encoding="utf-8").partition(FENCE)
            tokens.append(estimate_token_count(injected) if fence else 0)
        low, high = bootstrap_interval([(int(each), 1) for each in outcomes])
        missed = ", ".join(f"{at:02} {tasks[at - 1]['kind']}" for at, each in enumerate(outcomes, 1) if not each)
        solved = f"solved {sum(outcomes)} of {len(tasks)} ({low:.0%} to {high:.0%})"
        print(f"{folder.name}: {solved}, {sum(tokens) / len(tokens):.0f} tokens injected a task; not solved: {missed or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("prepare")
    making.add_argument("folder", type=Path)
    kind = making.add_mutually_exclusive_group(required=True)
    kind.add_argument("--with", dest="memory", action="store_true")
    kind.add_argument("--without", dest="memory", action="store_false")
    making.set_defaults(call=prepare)
    scoring = commands.add_parser("score")
    scoring.add_argument("folders", type=Path, nargs="+")
    scoring.set_defaults(call=score)
    given = parser.parse_args()
    given.call(given)


if __name__ == "__main__":
    main()
