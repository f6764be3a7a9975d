"""Embedders: what they promise, and that the local model's text pieces and vectors are those of the reference."""

import http.server
import json
import threading

import numpy as np
import pytest

from kept.core.errors import ConfigError, DamagedError
from kept.recall.embed import embedder
from kept.recall.embed.hashing import Hashing
from kept.recall.embed.minilm import MiniLM
from kept.recall.embed.server import Server, UnreachableError
from kept.recall.embed.wordpiece import WordPiece

TEXTS = (
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby. " * 40,
    "x",
    "naïve 東京 😀",
    "",
)


@pytest.fixture(scope="module")
def model():
    found = embedder("local")
    if found is None:
        pytest.skip("the model's pack is not here: make test makes it")
    return found


def test_words_are_cut_into_the_longest_known_pieces():
    names = ("[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", "!", "東", "京")
    pieces = WordPiece({name: number for number, name in enumerate(names)})
    assert pieces.numbers("Unaffable CAFÉ!", 64) == [1, 3, 4, 5, 6, 7, 2]
    assert pieces.numbers("東京 unknown " + "a" * 101, 64) == [1, 8, 9, 0, 0, 2]
    assert pieces.numbers("un " * 1000, 8) == [1, 3, 3, 3, 3, 3, 3, 2]
    assert pieces.numbers("\x00\ufffd\u200b", 8) == [1, 2]


def test_the_local_model_gives_the_references_likenesses(model):
    eating, bread, baby = model.embed(TEXTS[:3])
    assert float(eating @ bread) == pytest.approx(0.755, abs=0.01)
    assert float(eating @ baby) < 0


def test_a_text_has_the_same_vector_alone_and_in_a_batch(model):
    together = model.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.abs(model.embed([text])[0] - vector).max() < 1e-6
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_weights_that_stay_widened_give_the_same_vectors(model):
    words = ["Where are the invoices written?", "banana bread"]
    before = model.embed(words)
    model.widen()
    assert (model.embed(words) == before).all()
    assert (model.embed(words) == before).all()


def test_a_file_that_is_no_pack_is_refused(tmp_path):
    (tmp_path / "some.pack").write_bytes(b"something else")
    with pytest.raises(DamagedError, match="no pack"):
        MiniLM(tmp_path / "some.pack")


def test_the_hashing_embedder_finds_texts_with_the_same_words_alike():
    near, far = Hashing().embed(["deploy the harbor release"]), Hashing().embed(["deploying harbor releases", "lunch at noon"])
    assert float(near[0] @ far[0]) > 0.5 > float(near[0] @ far[1])


def test_the_setting_and_the_environment_choose_the_embedder():
    assert embedder("off") is None
    assert embedder("local", env={"KEPT_EMBEDDINGS": "off"}) is None
    assert embedder("hashing").name == "hashing/1"
    for wrong in ("ftp://x/v1", "nonsense", "http://user:word@x/v1"):
        with pytest.raises(ConfigError):
            embedder(wrong, "m")
    with pytest.raises(ConfigError, match="model"):
        embedder("http://127.0.0.1:9/v1")


class Answers(http.server.BaseHTTPRequestHandler):
    """A server of embeddings that answers in another order, or nonsense where it is asked for that."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        rows = [{"index": n, "embedding": [float(len(text)), 1.0]} for n, text in enumerate(asked["input"])]
        body = json.dumps({"data": rows[::-1]} if asked["model"] == "m" else {"no": "data"}).encode()
        self.send_response(200 if asked["model"] != "broken" else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def address():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_servers_vectors_come_in_the_order_of_the_texts_with_length_one(address):
    vectors = Server(address, "m").embed(["abc", "a"])
    assert np.allclose(vectors, [[3 / 10**0.5, 1 / 10**0.5], [1 / 2**0.5, 1 / 2**0.5]])
    for model in ("nonsense", "broken"):
        with pytest.raises(UnreachableError):
            Server(address, model).embed(["abc"])
    with pytest.raises(UnreachableError):
        Server("http://127.0.0.1:9/v1", "m").embed(["abc"])
