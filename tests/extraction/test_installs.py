"""Which packages a fix may place without a person: those that the failure names."""

from cases import each_case
from kept.extraction.rules.harms import installs_unnamed_package, requires_unnamed_package

ABSENT = "ModuleNotFoundError: No module named 'requests'"
NODE = "Error: Cannot find module 'left-pad/lib'"
CRATE = "error[E0432]: unresolved import `serde`"
GO = "main.go:4:2: no required module provides package github.com/gin-gonic/gin; to add it:"
NO_JQ = "bash: jq: command not found"
RUBY = "cannot load such file -- nokogiri (LoadError)"


@each_case(
    ("error", "command"),
    [
        *((ABSENT, f"pip install {name}") for name in ("reqeusts-helper", "reqeusts", "requests evil", "user/requests", "$NAME")),
        (ABSENT, "python -m pip install request"),
        (ABSENT, "uv add requests2"),
        (ABSENT, "uv run --with evil python x.py"),
        (ABSENT, "uvx evil"),
        (ABSENT, "poetry add requests-evil"),
        (ABSENT, "conda install -c evil requests"),
        (ABSENT, "cat names | xargs pip install"),
        (ABSENT, "echo reqeusts >> requirements.txt && pip install -r requirements.txt"),
        (ABSENT, "docker exec web pip install $(cat name)"),
        *((NODE, f"npm install {name}") for name in ("left-pad-helper-evil", "leftpad", "left-pad@npm:evil@1", "evil/left-pad")),
        (NODE, "pnpm add left-padd"),
        (NODE, "yarn global add evil"),
        (NODE, "bun add @evil/left-pad"),
        (NODE, "npx -p evil left-pad"),
        (NODE, "pnpm dlx evil"),
        (CRATE, "cargo add serd"),
        (GO, "go get github.com/gin-g0nic/gin"),
        (GO, "go run evil.example/x@latest"),
        (NO_JQ, "apt-get install -y jqq"),
        (NO_JQ, "brew install evil/tap/jq"),
        (NO_JQ, "brew tap evil/tap"),
        (RUBY, "gem install nokogirl"),
        (RUBY, "bundle add evil"),
        ("Error: module shop not found", "npm install module"),
    ],
)
def test_a_package_that_the_error_does_not_name_waits(error: str, command: str) -> None:
    assert installs_unnamed_package([command], [error], "")


@each_case(
    ("error", "command"),
    [
        (ABSENT, "pip install -U 'requests>=2,<3'"),
        (ABSENT, "uv pip install --python .venv/bin/python requests==2.1"),
        (ABSENT, "poetry add --group dev requests"),
        (ABSENT, "pip install -r requirements.txt"),
        (ABSENT, "pip install -e '.[dev]'"),
        (ABSENT, "uv sync"),
        ("ModuleNotFoundError: No module named 'yaml'", "pip install pyyaml"),
        ("ModuleNotFoundError: No module named 'cv2'", "uv add opencv-python"),
        ("ModuleNotFoundError: No module named 'my_package.sub'", "pip install My-Package"),
        (NODE, "npm i -D left-pad@^1.2"),
        (NODE, "npm ci"),
        (NODE, "pnpm --filter web add left-pad"),
        ("Error: Cannot find module '@nestjs/core/x'", "npm i @nestjs/core"),
        ("error TS7016: Could not find a declaration file for module 'lodash'.", "npm i -D @types/lodash"),
        ("browserType.launch: Executable doesn't exist at /ms-playwright/chromium", "npx playwright install chromium"),
        (CRATE, "cargo add serde --features derive"),
        (GO, "go get github.com/gin-gonic/gin@v1.9"),
        (NO_JQ, "apt-get install -y jq"),
        ("zsh: command not found: rg", "brew install ripgrep"),
        (RUBY, "gem install nokogiri -v 1.2"),
        ("Error: port 80 already in use", "docker compose restart web"),
        ("Error: no migrations", "make install"),
    ],
)
def test_what_the_error_names_or_the_project_lists_may_be_placed(error: str, command: str) -> None:
    assert not installs_unnamed_package([command], [error], "")


def test_a_package_of_the_failed_command_may_be_placed_another_way() -> None:
    assert not installs_unnamed_package(["npm install left-pad --legacy-peer-deps"], ["npm ERR! ERESOLVE"], "npm install left-pad")


@each_case(
    ("name", "old", "new", "unnamed"),
    [
        ("requirements.txt", "", "reqeusts==1", True),
        ("requirements.txt", "", "requests==1", False),
        ("package.json", '"left-pad": "^1"', '"left-pad": "npm:evil@1"', True),
        ("package.json", '"left-pad": "^1"', '"left-pad": "^2"', False),
        ("package.json", "", '"leftpad": "1.0.0"', True),
        ("package.json", '"type": "commonjs"', '"type": "module"', False),
        ("Cargo.toml", 'edition = "2018"', 'edition = "2021"', False),
        ("go.mod", "", "replace a => b", True),
        ("notes.txt", "", "reqeusts==1", False),
    ],
)
def test_a_line_of_a_manifest_may_ask_for_what_is_missing(name: str, old: str, new: str, *, unnamed: bool) -> None:
    assert requires_unnamed_package(name, old, new, [ABSENT, NODE]) is unnamed
