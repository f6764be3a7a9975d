"""The words of shells, package managers and compilers by which a step or a failure is known for what it is. Data, no decisions.

Program patterns are matched against a whole name; failure patterns are searched in single output lines of at most 300 characters.
"""

from kept.core.pattern import Pattern
from kept.profiles.lexicons import join_alternatives

TRIVIAL = Pattern(r"cd|pushd|popd|export|set|source|\.|true|false|:|sleep|wait|exit|pwd|echo|printf")
FILTERS = Pattern(r"tail|head|e?grep|sed|awk|wc|sort|uniq|tee|cat|less|cut|tr|rg|jq")
# Programs that read or print: their failures are probes, and their arguments are data.
LOOKERS = Pattern(
    r"ls|cat|head|tail|less|more|find|fd|[efu]?grep|ugrep|rg|ag|ack|sed|awk|wc|stat|file|which|type|test|\[|diff|tree|du"
    r"|df|nl|sort|uniq"
    r"|cut|tr|xargs|jq|yq|echo|printf|bat|date|env|printenv|uname|whoami|hostname|ps|lsof|ss|netstat|ping|dig|nslookup"
    r"|host|history|man"
)
INTERPRETERS = Pattern(r"node|python[\d.]*|ruby|perl|php|deno|java|lua|Rscript|tsx|ts-node|bash|sh|zsh")
# Programs whose arguments are mostly messages, requests or statements rather than a way of calling them.
CARRIERS = Pattern(r"curl|wget|http|xh|psql|mysql|sqlite3|redis-cli|mongosh|ssh|scp|rsync|gh|glab")
# Programs that place packages or run tasks: only what they are asked to place or run tells what they are for.
GENERAL = Pattern(
    r"npm|npx|pnpm|yarn|bun|bunx|pip[\d.]*|uv|poetry|pipenv|conda|mamba|cargo|go|gem|bundle|composer|brew|apt|apt-get|dnf|yum|apk"
    r"|pacman|git|docker|docker-compose|podman|kubectl|make|just|task|mvn|gradle|gradlew|dotnet|mix|python[\d.]*|node|ruby"
    r"|bash|sh|sudo"
)
# Programs and subcommands that test, format or report: they change nothing that another command needs.
REPORTS = Pattern(
    r"(?i)(?:tests?|lint|check|vet|typecheck|type-check|status|log|diff|show|view|ls|list|ps|logs|inspect|describe|get"
    r"|outdated|info"
    r"|whoami|version|doctor|why|search|freeze|fmt|format|blame|help|pytest|py\.test|tox|jest|vitest|mocha|rspec|phpunit"
    r"|mypy|pyright"
    r"|ruff|black|isort|flake8|pylint|eslint|prettier|biome|stylelint|gofmt|goimports|golangci-lint|rustfmt|clippy"
    r"|shellcheck|tsc|open)"
)
# What a person does with the work itself, whatever failed before.
KEEPS = Pattern(r"add|commit|push|branch|tag|remote|stash|cherry-pick|rebase|merge|fetch|rev-parse|ls-files|worktree|switch|mv")
# Wrappers before a command that give it another environment.
RUNNERS = Pattern(
    r"(?:npx|bunx|pnpx|uvx|(?:pnpm|yarn|npm) (?:exec|dlx)(?: --)?|(?:uv|poetry|pipenv|pdm|hatch|rye|bun|doppler|op) run(?: --)?"
    r"|bundle exec|direnv exec \.|dotenv(?: --)?|corepack|mise (?:x|exec) --|asdf exec|xvfb-run(?: -a)?|dbus-run-session"
    r"|python[\d.]* -m"
    r"|arch -\w+|gtimeout \w+|rosetta|wsl|winpty)"
)
# Options that choose what is run or how much is printed: adding one mends nothing.
CHOOSES = Pattern(
    r"-v+|--verbose|-k|-run|--filter|-t|--grep|-x|--only|-q|--quiet|-s|--silent|--tail|-n|--debug|--|-count=1|--no-color|--color\S*"
    r"|-l|-a|-h|--help|--version|--fix|--write|-w|-i|-r|--dry-run|-u|--bail|--testNamePattern\S*|--reporter\S*|--tb\S*"
    r"|--lf|--ff|-m|--message"
)
# Options by which a command does less, or fails less, than it would: a run with one more of them proves nothing.
LESSENS = Pattern(
    r"(?i)--(?:co|collect-?only|ignore(?:-\w+)*|ignore-?(?:scripts|errors)|deselect|skip\S*|exclude(?:-\w+)*|omit|no-?verify"
    r"|exit-zero|pass-?with-?no-?tests|allow-?(?:no-tests|empty|failures?)|continue-?on-?\w+|keep-going|dry-?run|just-print"
    r"|list(?:-?tests?)?|help|version|check-only|no-(?:run|check|lint|tests?|strict|type-?check|fail\S*|error\S*)|transpile-?only"
    r"|test-?(?:name|path)-?(?:ignore-?)?patterns?|only(?:-?changed|-?failures)?|changed(?:-?since)?|filter|grep|invert"
    r"|last-?failed|lf|stepwise|sw|runxfail|shard|if-present|suppress\S*|warn-?only|soft-?fail|fail-?never)(?:=.*)?"
    r"|-D(?:skip|maven\.test)\S*|-k|-short|-run|-fn|-fae|continue-on-error\S*|(?:SKIP|HUSKY|NO_VERIFY|SKIP_\w+|\w+_SKIP)=.*"
)
# Options by which a command only shows what it would do.
REHEARSES = Pattern(r"(?i)--(?:dry-?run|just-print|recon|what-?if|help|version|list|simulate|check-only|no-act)(?:=\S*)?|-whatif")
# A redirection by which nobody sees what a command says of its failure.
MUFFLES = Pattern(r"(?i)(?:2|&)>{1,2}\s*(?:/dev/null|\$null|nul\b)|2>&-|>\s*/dev/null\s+2>&1")
# A package, image or tool with the version that is wanted of it: the name, and what binds the version to it.
VERSIONED = Pattern(r"['\"]?([@\w./\[\]-]*[A-Za-z\]])(==|~=|>=|<=|!=|>|<|@\^?|:|=)[\^~]?v?\d[\w.*+-]*['\"]?")
CONTAINERS = Pattern(r"docker|podman|nerdctl|buildah")

# What passes by itself, or is part of merging.
TRANSIENT = Pattern(
    r"(?i)time(?:d)?[ -]?out|temporar|try again|rate limit|too many requests|\b(?:429|500|502|503|504)\b|connection reset"
    r"|unreachable"
    r"|econnreset|etimedout|socket hang up|eai_again|merge conflict|conflict \(|non-fast-forward|failed to push"
    r"|\[rejected\]|flak|deadline"
)
# What a test says of the code under it.
ASSERTS = Pattern(
    r"(?i)assert|\bexpect(?:ed|s)?\b.{0,120}\b(?:but|got|to|received|actual|found)\b|\b\d+ (?:failing|failed)|--- FAIL|✕|✗|^FAIL"
)
# A program or an option that this machine does not have.
LACKING = Pattern(
    r"(?i)command not found|: not found$|not found in path|is not recognized|no such file or directory: \w+$"
    r"|(?:invalid|illegal|unknown|unrecogni[sz]ed|unsupported) (?:option|flag|argument)|cannot execute|bad cpu type"
)
# A program that says that it was called wrongly.
MISUSED = Pattern(
    r"(?i)unknown|invalid|illegal|unrecogni[sz]ed|unexpected argument|requir|must|missing|supported|cannot use|ambiguous"
    r"|no such option"
)
# A message that says what to write, or that an interface of somebody else's code is another.
PRESCRIBES = Pattern(
    r"(?i)\buse [\w`'\"&(]|\binstead of\b|\bmust (?:not )?\w|\bneeds?\b|\brequires?\b|\bdeprecated\b|\bno longer\b"
    r"|\bnot (?:supported|allowed)\b"
    r"|cannot import name|has no attribute|has been (?:re)?moved|renamed|deprecat"
)
# A complaint that the same input always brings, whatever the time and the machine's state.
CONSTANT = Pattern(
    r"(?i)\bTS\d{4}\b|\bE\d{4}\b|supported|requires?|must|invalid|unknown|unrecogni[sz]ed|declaration|cannot use"
    r"|deprecated|schema|syntax|parse|option"
)
# Words with which a person takes back what was done, or says that it did not help.
TAKEN_BACK = Pattern(
    rf"(?i)\b(?:{join_alternatives('assertion', 'undone', spaced=True)})\b|{join_alternatives('assertion', 'undone', spaced=False)}"
)
# What undoes what a step placed or set.
TAKES_AWAY = Pattern(r"(?i)uninstall|remove|rm|del|delete|--?unset|unset|disable|unlink|purge|logout")

# Kinds of failures, and the words of a step that does something about such a one.
KINDS = (
    (
        Pattern(
            r"(?i)connection refused|econnrefused|could not connect|can't connect|cannot connect|connect: no such file"
            r"|is the .{0,30}running|not running"
        ),
        Pattern(r"(?i)up|start|restart|run|serve|server|boot|launch|daemon|open|bootstrap|colima|emulator|forward"),
    ),
    (
        Pattern(
            r"(?i)eaddrinuse|already in use|address in use|port .{0,20}(?:allocated|occupied|taken|busy)|resource busy"
            r"|text file busy"
        ),
        Pattern(r"(?i)kill|pkill|killall|fuser|stop|down|rm|taskkill|quit|shutdown"),
    ),
    (
        Pattern(r"(?i)permission denied|eacces|eperm|not permitted|unprotected private key|not writable|read-only file"),
        Pattern(r"(?i)chmod|chown|sudo|usermod|setfacl|chgrp|icacls|remount|xattr|unlock"),
    ),
    (
        Pattern(
            r"(?i)\bnot found\b|no module named|cannot find (?:module|package)|can't resolve|could not resolve|module not found"
            r"|unresolved import|no required module|package .{0,60}is not|cannot load such file|class not found|could not find"
            r"|executable doesn.t exist"
            r"|no such file|enoent|does not exist|doesn't exist|not installed|is missing|missing go\.sum|no matching package"
            r"|cannot open shared object"
        ),
        Pattern(
            r"(?i)install|ci|i|add|get|sync|build|rebuild|compile|link|tidy|restore|update|generate|gen|codegen|download|pull"
            r"|fetch|init|setup|bootstrap"
            r"|mkdir|touch|cp|ln|submodule|activate|tap|use|venv|corepack|require|prepare"
        ),
    ),
    (
        Pattern(
            r"(?i)unauthori[sz]ed|\b401\b|\b403\b|forbidden|not logged in|credential|authenticat|log ?in|expired|access denied"
            r"|no signing key|token|could not read username"
        ),
        Pattern(r"(?i)login|auth|configure|config|setup|sso|credential\w*|ssh-add|unlock|gpg|token|kinit|refresh"),
    ),
    (
        Pattern(r"(?i)lockfile|lock file|frozen|out of (?:date|sync)|integrity|checksum|go\.sum|not up to date|does not satisfy"),
        Pattern(r"(?i)install|i|lock|relock|update|tidy|sync|generate"),
    ),
    (
        Pattern(r"(?i)no space left|enospc|disk (?:is )?full|quota|out of memory|heap"),
        Pattern(r"(?i)prune|clean|rm|purge|gc|autoremove|resize"),
    ),
    (
        Pattern(
            r"(?i)engine|incompatible|unsupported .{0,30}version|requires .{0,30}(?:version|[<>=^~]|\d)"
            r"|version .{0,40}(?:required|mismatch)|older than|too old"
        ),
        Pattern(
            r"(?i)use|install|i|upgrade|update|nvm|fnm|volta|pyenv|rbenv|rustup|sdk|asdf|mise|default|override|toolchain|switch"
            r"|local|global"
        ),
    ),
    (
        Pattern(
            r"(?i)no such table|relation .{0,80}does not exist|unknown column|no such column|pending migration"
            r"|unapplied migration|schema .{0,40}(?:out|behind)|table .{0,60}doesn't exist"
        ),
        Pattern(r"(?i)migrate|migration\w*|upgrade|push|deploy|reset|load|seed|setup|up"),
    ),
    (
        Pattern(
            r"(?i)\.lock\b|another .{0,30}(?:process|instance)|could not get lock|is locked|database is locked|pid file"
            r"|already running"
        ),
        Pattern(r"(?i)rm|kill|pkill|killall|stop|unlock|force-unlock|remove"),
    ),
    (
        Pattern(r"(?i)stale|cache|corrupt|invalid (?:build|artifact)|previous build"),
        Pattern(r"(?i)rm|clean|clear|prune|purge|reset|invalidate"),
    ),
    (
        Pattern(
            r"(?i)not set|undefined variable|unbound variable|must (?:be set|specify|provide)|missing .{0,30}(?:env|variable"
            r"|setting)|keyerror|not configured|not initiali[sz]ed|no .{0,30}configured"
        ),
        Pattern(r"(?i)export|config|configure|set|setup|init|cp|env|tee|direnv|allow|add"),
    ),
    (
        Pattern(
            r"(?i)unknown (?:host|revision)|not a git repository|dubious ownership|detached|shallow|unrelated histories"
            r"|no upstream|does not have any commits"
        ),
        Pattern(r"(?i)config|init|unshallow|fetch|set-upstream|checkout"),
    ),
)

# Files that configure rather than run.
CONFIG = Pattern(
    r"(?i)(?:.*\.(?:ya?ml|toml|jsonc?|ini|cfg|conf|env|properties|mod|xml|gradle|kts|tf|nix|plist|lock)"
    r"|.*\.config\.[cm]?[jt]s|\.?[\w.-]*rc(?:\.\w+)?|\.env\S*"
    r"|(?:Docker|Make|Proc|Gem|Pip|Rake|Brew|Vagrant|Jenkins|Caddy)file(?:\.\w+)?|justfile|CMakeLists\.txt"
    r"|requirements[\w.-]*\.txt|\.git\w+|\.tool-versions|\.nvmrc|\.node-version|\.python-version|build\.sbt|mix\.exs)"
)
# Words of errors that name nothing.
UNTELLING = Pattern(
    r"(?i)errors?|cannot|could|find|found|modules?|files?|directory|such|packages?|commands?|failed|server|connect"
    r"|connection|refused|address|already"
    r"|ports?|unable|resolve|dependency|dependencies|tree|with|from|must|specify|this|that|have|does|needs?|needed"
    r"|updates?|install|build|tests?"
    r"|project|config|configuration|permission|denied|requested|access|token|line|imports?|unknown|invalid|options?"
    r"|arguments?|expected|missing|required?"
    r"|please|running|using|version|fatal|warning|code|exit|status|process|true|false|null|none|undefined|default|main"
    r"|home|local|user|users|work|data"
    r"|value|values|type|types|name|names|path|paths|object|function|class|property|there|when|then|your|into|only|other"
    r"|been|were|will|which|after"
    r"|before|while|script|scripts|source|output|input|http|https|localhost|node|python|listen|exception|index|the|and|for"
    r"|not|run|src|lib|app|bin|use|set|add|all|new|get"
)
