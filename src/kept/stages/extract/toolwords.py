"""The words of shells, tools and linters by which a failure or a step is known for what it is. Data, no decisions.

The patterns run on one line of an output, at most 300 characters long.
"""

import re2

# A path that is not there: usually somebody looked for it.
ABSENT_PATH = re2.compile(
    r"(?i)no such file|not a directory|cannot (?:find|access|stat|open)|can't (?:open|read|find)|does not exist|doesn't exist"
    r"|did not match|file not found|no (?:go )?files|not under version|no matches found|not found in",
)
# A program or an option that this machine does not have.
LACKING = re2.compile(
    r"(?i)command not found|: not found$|not found in path|is not recognized|no module named|cannot find module|unsupported"
    r"|(?:invalid|illegal|unknown|unrecogni[sz]ed) (?:option|flag|argument)",
)
# A program that says it was called wrongly.
MISUSED = re2.compile(
    r"(?i)unknown|invalid|illegal|unrecogni[sz]ed|unexpected argument|require|must|missing|supported|cannot use|ambiguous|no such option|allowed",
)
# What passes by itself, or is part of merging.
TRANSIENT = re2.compile(
    r"(?i)timed? ?out|temporar|try again|rate limit|too many requests|\b(?:429|502|503|504)\b|connection reset|unreachable|econnreset"
    r"|merge conflict|conflict \(|non-fast-forward|failed to push|\[rejected\]",
)
# A linter's message that says what to write.
PRESCRIBES = re2.compile(
    r"(?i)\buse [\w`'\"&(]|\binstead of\b|\bmust (?:not )?\w|\bshould (?:not |be |use |have )|\bprefer \w|\bavoid \w"
)
# Steps that make something ready for another one.
PREPARES = frozenset(
    {"install", "add", "build", "rebuild", "mkdir", "chmod", "chown", "login", "auth", "init", "up", "submodule"}
    | {"generate", "gen", "codegen", "sync", "migrate", "tidy", "download", "restore", "clean", "prune", "unset"}
    | {"use", "switch", "trust", "tap", "link", "enable", "disable", "unlock", "config", "configure", "setup"}
    | {"bootstrap", "venv", "ci", "start", "pull"}
)
# A package, image or tool with the version that is wanted of it: the name, and what binds the version to it.
VERSIONED = re2.compile(r"^['\"]?([@\w./\[\]-]*[A-Za-z\]])(==|~=|>=|<=|!=|>|<|@\^?|:|=)[\^~]?v?\d[\w.*+-]*['\"]?$")
CONTAINERS = frozenset({"docker", "podman", "nerdctl", "buildah"})
# Options that only choose what is run or how much is printed: adding one mends nothing.
CHOOSES = frozenset(
    {"-v", "-vv", "-vvv", "--verbose", "-k", "-run", "--filter", "-t", "--grep", "-x", "--only", "-q", "--quiet"}
    | {"-s", "--silent", "--tail", "-n", "-p", "--debug", "--", "-count=1"}
)
# Programs whose errors are mostly those of the script they run.
INTERPRETERS = frozenset({"node", "python", "python3", "ruby", "perl", "php", "deno", "java", "lua", "Rscript", "tsx", "ts-node"})
# Rules about layout and leftovers, which every run of a formatter mends.
LAYOUT = frozenset(
    {"gofmt", "goimports", "gofumpt", "gci", "typecheck", "unused", "deadcode", "lll", "whitespace", "wsl"}
    | {"nlreturn", "misspell", "prettier/prettier", "import/order", "no-unused-vars", "ineffassign", "indent", "semi"}
    | {"quotes", "F401", "F841", "E501", "E302", "E303", "E305", "W191", "W291", "W292", "W293", "I001", "Q000"}
    | {"no-trailing-spaces", "eol-last", "comma-dangle", "godot", "dupl", "unused-import", "unused-imports"}
    | {"unused-variable", "trailing-whitespace", "unparam", "line-too-long", "no-multiple-empty-lines"}
)
# Files that configure rather than run, by their ending or name.
CONFIG_ENDINGS = (
    ".yml",
    ".yaml",
    ".toml",
    ".json",
    ".jsonc",
    ".ini",
    ".cfg",
    ".conf",
    ".env",
    ".properties",
    ".mod",
    ".xml",
    ".gradle",
    ".config.js",
    ".config.ts",
    ".config.mjs",
    ".config.cjs",
    "rc",
)
CONFIG_NAMES = frozenset(
    {"Dockerfile", "Makefile", "justfile", "Procfile", "Gemfile", "requirements.txt", "go.work", ".gitignore"} | {".gitattributes"}
)
# Programs of the machine, not of a project: how they want to be called is true everywhere on it.
MACHINE = frozenset(
    {
        "grep",
        "egrep",
        "fgrep",
        "sed",
        "awk",
        "cat",
        "find",
        "xargs",
        "date",
        "readlink",
        "realpath",
        "stat",
        "tar",
        "base64",
        "timeout",
    }
    | {
        "md5sum",
        "sha256sum",
        "shasum",
        "seq",
        "head",
        "tail",
        "sort",
        "cp",
        "mv",
        "rm",
        "ls",
        "ln",
        "ps",
        "mktemp",
        "du",
        "df",
        "tr",
    }
    | {
        "cut",
        "wc",
        "tee",
        "touch",
        "chmod",
        "chown",
        "zip",
        "unzip",
        "kill",
        "lsof",
        "netstat",
        "ss",
        "ping",
        "which",
        "python",
        "pip",
    }
    | {"open", "xdg-open", "pbcopy", "xclip", "watch", "tree", "jq", "rg", "fd", "apt", "apt-get", "brew", "dnf", "pacman"}
)
