"""Status reports: sentences that say how checks went or that something is done, and nothing that matters later. Pure."""

import re2

from kept.core.artifact import find_artifacts
from kept.core.statement import parse_statement, stem_word
from kept.core.text import tokenize

# What such a sentence is made of; a word outside of these makes it say something.
_WORDS = (
    "test tests suite unit integration e2e spec build builds lint linter linting formatter type types typecheck typescript check "
    "checks ci pipeline code codebase doc docs documentation project file files import imports task step phase todo change changes "
    "update updates fix fixes error errors warning warnings failure issue issues problem problems implementation functionality "
    "feature everything nothing thing all existing new full whole complete both picture successfully smoothly correctly properly "
    "perfectly fully entirely without look looks run runs running ran remain remains make made get zero one two three four five "
    "six still expected exactly regression regressions found side up report out"
)
# What it claims.
_CLAIMS = (
    "pass passes passed passing succeed succeeds succeeded successful green clean compile compiles compiled work works worked "
    "working ready complete completes completed finished done good great fine date required needed necessary applied verified "
    "confirmed fixed resolved picture updated synchronized sync production-ready"
)
_STATES = frozenset(stem_word(word) for word in _CLAIMS.split())
_EMPTY = frozenset(stem_word(word) for word in _WORDS.split()) | _STATES
_RULE = re2.compile(r"(?i)\b(?:must|always|never|ensure|make sure|shall|before|until|unless|because|instead)\b")
_CHECK = re2.compile(r"(?i)\b(?:test|lint|build|check|type-?check|mypy|ruff|eslint|tsc|vet|clippy)\b|test|lint")


def is_status_report(sentence: str) -> bool:
    """Whether a sentence only reports that checks passed, that nothing was needed or that something is done ("All tests pass")."""
    if _RULE.search(sentence) or sentence.rstrip().endswith(("?", "？")):
        return False
    named = find_artifacts(sentence)
    if not all(_CHECK.search(name) for name in named):
        return False
    of_names = {stem_word(word) for name in named for word in tokenize(name)}
    content = {word for word in parse_statement(sentence).content - of_names if not word.isdigit()}
    return not content.isdisjoint(_STATES) and content <= _EMPTY
