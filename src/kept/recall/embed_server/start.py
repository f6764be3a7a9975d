"""Start the embedding server in a running process: it tells hooks which facts are near to a message by meaning."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kept.local import settings
from kept.paths import Paths
from kept.recall.embed import embedder
from kept.recall.embed_server.query import said_near, spot
from kept.recall.embed_server.server import Answer, served
from kept.recall.search import meanings


@contextmanager
def kept_warm(home: Paths, env: Mapping[str, str]) -> Iterator[None]:
    """Answer the hooks of this home while the body runs, by a socket that only its user can reach."""
    with served(str(home.state), lambda: _ready(home, env)):
        yield


def _ready(home: Paths, env: Mapping[str, str]) -> Answer:
    """What a warm process answers, by the settings as they are at each question. Loads the model now. Raises KeptError."""
    config = home.config / "config.toml"
    recall = settings.load_settings(config).recall
    model = None
    if home.vectors.exists():
        model = embedder(recall.embeddings, recall.embeddings_model, env, local=recall.model, stays=True)
    if model is not None:
        model.embed(["kept"])  # the first question must not wait for it

    def answer_hook(message: str, scopes: tuple[str, ...], session: str | None) -> Mapping[str, float]:
        place = spot(home.state, settings.load_settings(config).recall, env)
        if session is None:
            return meanings(place, message, scopes)
        return said_near(place, message, scopes[0], session) if scopes else {}

    return answer_hook
