"""Start the embedding server in a running process: it tells hooks which facts are near to a message by meaning."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kept.local import settings
from kept.paths import Paths
from kept.recall.embed import create_embedder
from kept.recall.embed_server.query import find_near_turns, make_query_context
from kept.recall.embed_server.server import Answer, run_server
from kept.recall.search import find_near_memories


@contextmanager
def run_embed_server(home: Paths, env: Mapping[str, str]) -> Iterator[None]:
    """Answer the hooks of this home while the body runs, by a socket that only its user can reach."""
    with run_server(str(home.state), lambda: _prepare_answer(home, env)):
        yield


def _prepare_answer(home: Paths, env: Mapping[str, str]) -> Answer:
    """What a warm process answers, by the settings as they are at each question. Loads the model now. Raises KeptError."""
    config = home.config / "config.toml"
    recall = settings.load_settings(config).recall
    model = None
    if home.vectors.exists():
        model = create_embedder(recall.embeddings, recall.embeddings_model, env, local=recall.model, stays=True)
    if model is not None:
        model.embed(["kept"])  # the first question must not wait for it

    def answer_hook(message: str, scopes: tuple[str, ...], session: str | None) -> Mapping[str, float]:
        place = make_query_context(home.state, settings.load_settings(config).recall, env)
        if session is None:
            return find_near_memories(place, message, scopes)
        return find_near_turns(place, message, scopes[0], session) if scopes else {}

    return answer_hook
