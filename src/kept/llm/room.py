"""Room: how large questions and replies may be, by the context of the model that is asked. Pure."""

from dataclasses import dataclass

#: What one question shows of a conversation at most: little enough for a small model to keep in view, far below every price step.
PART_TOKENS = 12_000
REPLY_TOKENS = 4_096
VENDORS = 128_000  # tokens of context that every model of a large vendor has
UNKNOWN_LOCAL = 4_000  # tokens of context that a local model is taken to have where nobody says
_FIXED = 1_500  # the stable text, the form of the reply, the reminder
_SPARE = 0.85  # what stands before a part, hints, and tokens that are counted too low
_LEAST = 300
# The context of models that are known, by how their names begin.
_KNOWN = {
    "claude": 200_000,
    "gpt": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "gemini": 1_000_000,
    "sonnet": 200_000,
    "opus": 200_000,
    "haiku": 200_000,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLimits:
    """The most tokens that a question shows of what it is about, and that its reply may have."""

    part: int = PART_TOKENS
    reply: int = REPLY_TOKENS


def known_context(model: str) -> int:
    """The tokens of context of a model by its name; 0 where it is not known."""
    plain = model.rpartition("/")[2].lower()
    return next((tokens for name, tokens in _KNOWN.items() if plain.startswith(name)), 0)


def token_limits_for(context: int, *, most: int = 0) -> TokenLimits:
    """What fits into a context of so many tokens, with questions of at most ``most`` (0: as large as they fit)."""
    reply = min(REPLY_TOKENS, context // 4)
    asked = context - reply if not most else min(context - reply, most)
    return TokenLimits(part=max(_LEAST, min(PART_TOKENS, int((asked - _FIXED) * _SPARE))), reply=reply)
