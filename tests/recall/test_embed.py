"""Embedders: what they promise, and that the local model's text pieces and vectors are those of the reference."""

import http.server
import json
import threading

import numpy as np
import pytest

from cases import each_case
from kept.core.errors import ConfigError, DamagedError
from kept.recall.embed import MULTILINGUAL, SMALL, create_embedder
from kept.recall.embed.hashing import HashingEmbedder
from kept.recall.embed.levels import detect_language, find_scale
from kept.recall.embed.minilm import MiniLM, WordPiece
from kept.recall.embed.server import ServerEmbedder, UnreachableError
from kept.recall.embed.threads import _thread_functions, single_thread
from kept.recall.embed.universal import Unigram, Vocabulary, pack_six_bits, slot_of, unpack_six_bits

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
    found = create_embedder("local", local=SMALL)
    if found is None:
        pytest.skip("the model's pack is not here: make test makes it")
    return found


@pytest.fixture(scope="module")
def many():
    found = create_embedder("local", local=MULTILINGUAL)
    if found is None or "universal" not in found.name:
        pytest.skip("the multilingual model's pack is not here: make test makes it")
    return found


def test_words_are_cut_into_the_longest_known_pieces():
    names = ("[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe", "!", "東", "京")
    pieces = WordPiece({name: number for number, name in enumerate(names)})
    assert pieces.tokenize("Unaffable CAFÉ!", 64) == [1, 3, 4, 5, 6, 7, 2]
    assert pieces.tokenize("東京 unknown " + "a" * 101, 64) == [1, 8, 9, 0, 0, 2]
    assert pieces.tokenize("un " * 1000, 8) == [1, 3, 3, 3, 3, 3, 3, 2]
    assert pieces.tokenize("\x00\ufffd\u200b", 8) == [1, 2]


def test_embedding_takes_one_thread_and_leaves_numpy_the_threads_it_had(monkeypatch):
    threads = [4]
    monkeypatch.setattr("kept.recall.embed.threads._thread_functions", lambda: (lambda: threads[-1], threads.append))
    with single_thread():
        assert threads[-1] == 1
    assert threads[-1] == 4
    found = _thread_functions()
    assert found is None or found[0]() >= 1


def test_the_local_model_gives_the_references_likenesses(model):
    eating, bread, baby = model.embed(TEXTS[:3])
    assert float(eating @ bread) == pytest.approx(0.755, abs=0.01)
    assert float(eating @ baby) < 0


def test_a_text_has_the_same_vector_alone_and_in_a_batch(model):
    together = model.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.abs(model.embed([text])[0] - vector).max() < 1e-6
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_the_multilingual_model_finds_a_fact_by_a_question_in_its_language_and_in_another(many):
    facts = many.embed(
        ["发票以 PDF 格式在归档中保存十年。", "团队每周二十点开会。", "Invoices are kept in the archive for ten years."]
    )
    for question in ("旧账单放在哪里？", "Wo heben wir alte Rechnungen auf?", "Где лежат старые счета?"):
        near = many.embed([question], question=True)[0] @ facts.T
        assert min(near[0], near[2]) > near[1] + 0.1


def test_a_questions_product_with_the_same_text_is_one(many):
    for text in ("Where are the invoices written?", "Wo werden die Rechnungen geschrieben?", "好的謝謝"):
        assert float(many.embed([text], question=True)[0] @ many.embed([text])[0]) == pytest.approx(1, abs=1e-4)


def test_unrelated_texts_are_as_far_apart_in_every_language_the_model_knows(many):
    facts = many.embed(
        ["用 Poetry 添加软件包。", "Пароли лежат в хранилище.", "Tests run inside the container.", "ログは三十日間保存する。"]
    )
    for prompt in ("好的謝謝", "да, продолжай", "ok, thanks", "もう一度", "encore une fois", "오늘 날씨 어때?", "شكرا"):
        level = find_scale(many.name, prompt)
        assert max(map(level.to_common_scale, (many.embed([prompt], question=True)[0] @ facts.T).tolist())) < 0.4


def test_the_small_model_says_nothing_about_a_language_it_does_not_know(model):
    assert find_scale(model.name, "deploy the release") is not None
    for question in ("好的謝謝", "да, продолжай", "もう一度", "Wie backe ich ein Brot?", "네, 고마워요", "شكرا", "123 ..."):
        assert find_scale(model.name, question) is None


def test_a_model_without_a_table_tells_its_own_cosines():
    assert find_scale("hashing/1", "好的謝謝").to_common_scale(0.25) == 0.25


@each_case(
    ("text", "language"),
    [
        ("run the tests again", "english"),
        ("deploy", "english"),
        ("Fix the café menu, please", "english"),
        ("Wie führe ich die Tests aus?", "latin"),
        ("noch nicht", "latin"),
        ("¿Dónde van las credenciales?", "latin"),
        ("把 deploy 腳本推到伺服器", "han"),
        ("テストを実行して", "kana"),
        ("테스트를 실행해 줘", "hangul"),
        ("запусти тесты", "cyrillic"),
        ("شغل الاختبارات", "arabic"),
        ("Τρέξε τα τεστ", "greek"),
        ("42 :)", ""),
    ],
)
def test_the_language_of_a_text_is_seen_from_its_letters_and_small_words(text, language):
    assert detect_language(text) == language


def test_words_are_cut_into_the_likeliest_pieces():
    pieces = {"<unk>": 0.0, "<s>": 0.0, "</s>": 0.0, "▁un": -2.0, "able": -2.0, "▁": -3.0, "unable": -9.0, "▁東": -3.0, "京": -3.0}
    raw = [each.encode() for each in pieces]
    slots = [0] * 32
    for number, piece in enumerate(raw):
        slot = slot_of(piece, 32)
        while slots[slot]:
            slot = (slot + 1) % 32
        slots[slot] = number + 1
    starts = [sum(map(len, raw[:place])) for place in range(len(raw) + 1)]
    cut = Unigram(Vocabulary(b"".join(raw), starts, list(pieces.values()), -9.0, slots))
    assert cut.tokenize("unable  東京", 64) == [1, 3, 4, 7, 8, 2]
    assert cut.tokenize("un x\u200b", 64) == [1, 3, 5, 0, 2]  # a full-width letter is a plain one, what is unknown one piece
    assert cut.tokenize("un " * 100, 6) == [1, 3, 3, 3, 3, 2]


def test_numbers_of_six_bits_come_back_as_they_were():
    rows = np.random.default_rng(1).integers(0, 64, (5, 16), np.uint8)
    assert (unpack_six_bits(pack_six_bits(rows)) == rows).all()
    assert pack_six_bits(rows).shape == (5, 12)


def test_weights_that_stay_widened_give_the_same_vectors(model):
    words = ["Where are the invoices written?", "banana bread"]
    before = model.embed(words)
    model.widen_weights()
    assert (model.embed(words) == before).all()
    assert (model.embed(words) == before).all()


REQUESTS = {
    "I want to do a new release, what do I need to do?": "The changelog's Unreleased section moves under the new number first.",
    "der Export soll auch die Kundennummer enthalten": "Spalten kommen hinten dazu, der Steuerberater liest nach Position.",
    "make the login page remember me": "no cookies without consent, the lawyer was very clear",
    "the list takes ages to come up on my phone": "Pages load at most fifty rows; more come when somebody scrolls.",
    "add a package that draws charts": "ask before you add a dependency, the bundle has to stay below 200 kB",
    "people in the office see yesterday's numbers": "The nightly job ends at four, and reports are read from its snapshot.",
    "open the pr": "one reviewer besides me, and a ticket in the title",
    "mets à jour le schéma": "migrations are written by hand and reviewed by Ada, never generated",
}


def test_requests_are_nearer_to_what_helps_and_other_texts_stay_where_they_are(many):
    asker = create_embedder("local", local=MULTILINGUAL, requests=True)
    stored = many.embed(list(REQUESTS.values()))
    before, after = (each.embed(list(REQUESTS), question=True) @ stored.T for each in (many, asker))
    places = np.arange(len(REQUESTS))
    apart = [float((rows[places, places] - (rows.sum(1) - rows[places, places]) / 7).mean()) for rows in (before, after)]
    assert apart[1] > apart[0]
    assert (asker.embed(TEXTS) != many.embed(TEXTS)).any()
    assert (many.embed(list(REQUESTS.values())) == stored).all()


def test_a_file_that_is_no_pack_is_refused(tmp_path):
    (tmp_path / "some.pack").write_bytes(b"something else")
    with pytest.raises(DamagedError, match="not a model pack"):
        MiniLM(tmp_path / "some.pack")


def test_the_hashing_embedder_finds_texts_with_the_same_words_alike():
    near, far = (
        HashingEmbedder().embed(["deploy the harbor release"]),
        HashingEmbedder().embed(["deploying harbor releases", "lunch at noon"]),
    )
    assert float(near[0] @ far[0]) > 0.5 > float(near[0] @ far[1])


def test_the_setting_and_the_environment_choose_the_embedder():
    assert create_embedder("off") is None
    assert create_embedder("local", env={"KEPT_EMBEDDINGS": "off"}) is None
    assert create_embedder("hashing").name == "hashing/1"
    for wrong in ("ftp://x/v1", "nonsense", "http://user:word@x/v1"):
        with pytest.raises(ConfigError):
            create_embedder(wrong, "m")
    with pytest.raises(ConfigError, match="model"):
        create_embedder("http://127.0.0.1:9/v1")


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
        threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_servers_vectors_come_in_the_order_of_the_texts_with_length_one(address):
    vectors = ServerEmbedder(address, "m").embed(["abc", "a"])
    assert np.allclose(vectors, [[3 / 10**0.5, 1 / 10**0.5], [1 / 2**0.5, 1 / 2**0.5]])
    for model in ("nonsense", "broken"):
        with pytest.raises(UnreachableError):
            ServerEmbedder(address, model).embed(["abc"])
    with pytest.raises(UnreachableError):
        ServerEmbedder("http://127.0.0.1:9/v1", "m").embed(["abc"])
