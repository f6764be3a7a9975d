"""The settings of recall, in a separate module, so that hooks need not load the other settings."""

from kept.core.value import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class RecallSettings:
    """The table ``[recall]``.

    ``embeddings`` is the source of embeddings: ``local`` (a model that comes with kept), ``off``, ``hashing`` (words only, for
    tests), or the URL of an OpenAI-compatible server, which needs ``embeddings_model``. The server's key is in the environment
    variable ``KEPT_EMBEDDINGS_KEY``. ``model`` is the local model: ``multilingual``, or ``small`` for English only.

    ``floor`` is the minimum similarity of a relevant fact (a cosine on the scale of :mod:`kept.recall.embed.levels`). ``most`` is
    the maximum number of facts. ``recent_boost`` is added to the score of a fact seen just now, and fades to 0 over
    ``recent_days``. ``use_boost`` is the maximum that frequent use adds. ``run_seconds`` limits the time a run spends on new
    vectors. The nightly job or the next run computes the rest; until then these memories are found only by their words.
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
