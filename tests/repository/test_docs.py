"""What the documentation names exists: files, links, commands with their options, make targets, settings and tests."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cli_world import kept
from kept.cli.registry import COMMANDS, STATES
from kept.core.memory import Status

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "kept"
DOCS = ROOT / "docs"
# The log tells of the past, in the names of its day.
DATED = ("log.md",)
OTHERS = (ROOT / "README.md", ROOT / "plugins" / "kept" / "README.md", ROOT / "examples" / "plugin" / "README.md")
PAGES = sorted(page for page in (*OTHERS, *DOCS.rglob("*.md")) if page.name not in DATED)
IDS = [
    f"{letter}{n}" for letter, most in (("J", 12), ("X", 12), ("L", 14), ("K", 11), ("A", 7), ("B", 11)) for n in range(1, most + 1)
]
# Commands whose first argument names an action with options of its own.
WITH_ACTIONS = {"journal", "profiles", "schedule", "sources", "jobs", "prompt", "projects", "eval", "config", "hook"}
CODE = re.compile(r"```[a-z]*\n(.*?)```|``(.+?)``|`([^`\n]+)`", re.DOTALL)
CALL = re.compile(r"(?:^|[^\w/.\"-])kept (?!kept)([a-z]+)((?: [^\n#;|&()→]*)?)", re.MULTILINE)
FOLDERS = {folder.name for base in (ROOT, PACKAGE, ROOT / "tests") for folder in base.iterdir() if folder.is_dir()}
PLACEHOLDER = re.compile(r"<\w+>|\*+|…|(?<=/)[A-Z]+$")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def code_of(page: Path) -> list[str]:
    """What stands in backticks or in a block of code."""
    return ["".join(groups) for groups in CODE.findall(page.read_text(encoding="utf-8"))]


def is_path(word: str) -> bool:
    """True if a word names a file or folder of the project: it begins with a folder of it, or ends as a module does."""
    first, slash, _ = word.partition("/")
    if not re.fullmatch(r"[\w.<>*…/-]+", word) or re.search(r"YYYY|^\.\.?/", word):
        return False
    return (bool(slash) and first in FOLDERS) or word.endswith(".py")


@cache
def exists(word: str) -> bool:
    pattern = PLACEHOLDER.sub("*", word.rstrip("/"))
    bases = (ROOT, PACKAGE, ROOT / "tests", DOCS, *(ROOT / "tests").iterdir())
    return any(next(base.glob(pattern), None) for base in bases if base.is_dir())


def test_every_path_that_a_page_names_exists():
    words = {(page_id(page), word.strip(",:;()")) for page in PAGES for code in code_of(page) for word in code.split()}
    assert sorted((page, word) for page, word in words if is_path(word) and not exists(word)) == []


def test_every_link_of_a_page_leads_to_a_file():
    links = [
        (page, link) for page in PAGES for link in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    ]
    assert [(page_id(page), link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_command_and_option_that_a_page_names_exists(capsys, home):
    helps: dict[tuple[str, ...], str] = {}
    codes = {code for page in PAGES for code in code_of(page)}
    for name, tail in sorted({match for code in codes for match in CALL.findall(re.sub(r"#[^\n]*", "", code))}):
        if name == "help":
            continue
        assert name in COMMANDS, f"kept {name}"
        rest = re.sub(r'"[^"]*"', "TEXT", tail)
        words = rest.split()
        action = words[:1] if name in WITH_ACTIONS and words and re.fullmatch(r"[a-z]+", words[0]) else []
        asked = (name, *action, "--help")
        if asked not in helps:
            code, out, _ = kept(capsys, *asked)
            assert code == 0, asked
            helps[asked] = out
        options = re.findall(r"(?<!\S)--[a-z][a-z-]+", rest)
        known = helps[asked] + "--home --profile --tz --quiet --verbose --new-store --version --help"
        assert [option for option in options if option not in known] == [], f"kept {name}{rest}"


def test_every_make_target_that_a_page_names_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for page in PAGES for code in code_of(page) for name in re.findall(r"(?:^|\n)make ([a-z]+)", code)}
    assert named - targets == set()


def test_every_test_that_a_page_names_exists():
    files = (ROOT / "tests").rglob("test_*.py")
    there = {name for file in files for name in (file.stem, *re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8")))}
    named = {name for page in PAGES for name in re.findall(r"(?<![\w/])test_\w+\b(?!\.py)", page.read_text(encoding="utf-8"))}
    assert named - there == set()


def test_every_requirement_stands_in_the_table_once():
    rows = re.findall(r"^\| ([A-Z]\d+) \|", (DOCS / "requirements.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == IDS


def test_every_requirement_names_a_command_a_module_and_a_test():
    for line in (DOCS / "requirements.md").read_text(encoding="utf-8").splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            _, _, _, command, module, tests, _ = line.split("|")
            assert re.search(r"`kept[ .]\w+", command), line
            assert exists(module.strip(" `")), line
            assert "`test_" in tests, line


def test_the_architecture_stays_short_and_names_every_room():
    lines = (DOCS / "architecture.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80
    rooms = {room for line in lines if line.startswith("| `") for room in re.findall(r"`([\w.]+)`", line.split("|")[1])}
    code = {path.name for path in PACKAGE.iterdir() if path.name[0] not in "_." and path.name not in {"py.typed", "sample"}}
    assert rooms == code


def test_the_index_of_the_log_names_every_entry():
    text = (DOCS / "log.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## (.+)$", text, re.MULTILINE)
    anchors = re.findall(r"^\| \[[^\]]+\]\(#([^)]+)\) \|", text, re.MULTILINE)
    assert anchors == [re.sub(r"[^\w -]", "", entry.lower()).replace(" ", "-") for entry in entries]


def test_the_index_of_decisions_names_every_decision():
    folder = DOCS / "decisions"
    linked = re.findall(r"\]\(([^)]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(page.name for page in folder.glob("*.md") if page.name != "README.md")


# Other words for what `kept help all` has one word for: held, rejected, superseded.
_YOURS = r"(?:in `?kept review|for (?:you|them|review|your|a person|the (?:user|person))\b)"
OTHER_WORDS = re.compile(
    rf"\bwait(?:s|ing)? {_YOURS}|\b(?:what|nothing|proposals?|memor(?:y|ies)) waits?\b|\bheld back\b|\bdeclined\b"
    r"|\bturn(?:s|ed)? (?:it |them |this )?down\b|\bg(?:ives?|ave|iven) way to\b|\bovertaken\b",
    re.IGNORECASE,
)


def texts_of(path: Path) -> Iterator[str]:
    """What a file has for people: the strings of a module without its docstrings, of all else every line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from text.splitlines()
        return
    tree = ast.parse(text)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    )


def test_one_word_stands_for_each_state_of_a_memory():
    assert {word for word, _ in STATES} == {*(status.value for status in Status), "refused", "forgotten", "was so"}
    shown = [path for suffix in (".py", ".html", ".toml") for path in PACKAGE.rglob(f"*{suffix}")]
    shown = [path for path in shown if not {"extraction", "lexicon", "core", "profiles"} & {*path.relative_to(PACKAGE).parts}]
    plugins = sorted((ROOT / "plugins").rglob("*.md"))
    assert [
        f"{page_id(path)}: {match[0]}"
        for path in (*shown, *PAGES, *plugins)
        if OTHER_WORDS.search(path.read_text(encoding="utf-8"))
        for text in texts_of(path)
        for match in OTHER_WORDS.finditer(text)
    ] == []
