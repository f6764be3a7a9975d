"""How recall looks and weighs, as settings; the formula is the seed article's: cosine, recency, use, confidence."""

from kept.core.value import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallSettings:
    """The table ``[recall]``.

    ``embeddings`` says how meanings are compared: ``local`` (a model that comes with kept), ``off``, ``hashing`` (words only, for
    trials), or the address of a server that speaks the OpenAI way, which needs ``embeddings_model``; its key is in the
    environment's ``KEPT_EMBEDDINGS_KEY``. ``model`` is the local one: ``multilingual``, or ``small`` for English alone.
    ``floor`` is the likeness below which a fact is not relevant (a cosine on the scale of :mod:`kept.recall.embed.levels`),
    ``most`` how many facts there are at most; ``recent_boost`` is added to a fact seen just now and fades to nothing over
    ``recent_days``; ``use_boost`` is what much use adds at most. ``run_seconds`` is what one run spends on new vectors at most; the
    rest waits for the night or the next run, found by words until then.
    """

    embeddings: str = "local"
    embeddings_model: str = ""
    model: str = "multilingual"
    floor: float = 0.3
    most: int = 15
    recent_boost: float = 0.1
    recent_days: float = 7.0
    use_boost: float = 0.05
    run_seconds: float = 2.0
