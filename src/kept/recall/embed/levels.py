"""Convert cosines to a common scale, and predict from a message's vector which memories it needs.

The cosine of unrelated texts is about 0.03 for one model and language and about 0.8 for another. Cosines are therefore converted
to the scale of MiniLM on English texts, for which floors and weights were chosen. ``levels.json`` contains two cosines for each
model and language: the mean of unrelated texts, and the one that 1 in 200 unrelated pairs reaches. ``benchmarks/levels.py`` makes
this file. Cosines of a model that is not in it are not converted. The language of a text is detected from its script and its
function words.

``asking.json`` (made by ``benchmarks/asking.py``) contains two things for each model. Its weights decide from a message's vector
whether the message asks for anything that could be remembered. "Thanks", "explain this line" and questions of general knowledge do
not. The product of its two matrices maps a message's vector to the vector of the memories that the message needs. For example, a
request for a new screen needs to know where texts are stored, although it does not mention texts.
"""

import json
from base64 import b64decode
from functools import lru_cache
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHARACTERS = 1_000  # characters of a text that are read
_WORD = 3  # a character of a script without spaces counts as this many letters
# Function words. A word that exists in English and in another language ("die", "on", "in") is in neither list.
_ENGLISH_TEXT = """
    the and are were been be to of for with from by it this that these i you we they my your our does did not what when where why
    how which who can could should would will please if have has there than then into about is don't it's
"""
_ENGLISH = frozenset(_ENGLISH_TEXT.split())
_OTHERS_TEXT = """
    der das den dem des ein eine einen ist sind und nicht mit für auf von zu wie wo warum welche ich wir bitte wird beim zum zur im
    le la les un une des du et est sont pas pour dans que qui je nous vous il elle avec comment pourquoi sur au ce cette
    el los las una y es son para con por qué cómo dónde está del al se su mi como más
    o os uma e são não com em do dos da das na no por meu como onde
    il gli che di è sono non per della het een van niet ik wij och att är inte jag på ikke jeg og er nie jest się czy bir ve için
"""
_OTHERS = frozenset(_OTHERS_TEXT.split())
_SCRIPTS = (
    ("greek", 0x370, 0x3FF),
    ("cyrillic", 0x400, 0x52F),
    ("hebrew", 0x590, 0x5FF),
    ("arabic", 0x600, 0x77F),
    ("arabic", 0xFB50, 0xFEFC),
    ("thai", 0xE00, 0xE7F),
    ("kana", 0x3040, 0x30FF),
    ("han", 0x3400, 0x9FFF),
    ("han", 0x20000, 0x3FFFF),
    ("hangul", 0x1100, 0x11FF),
    ("hangul", 0xAC00, 0xD7AF),
)
_DENSE = frozenset({"han", "kana", "hangul", "thai"})
_KANA = 0.1  # minimum share of kana with which a text with Han characters counts as Japanese


def detect_language(text: str) -> str:
    """``english``, ``latin`` (another language in Latin letters) or the name of a script. Empty if the text has no letters."""
    part = text[:_CHARACTERS]
    counts: dict[str, int] = {}
    for char in part:
        if char.isalpha():
            script = _detect_script(char)
            counts[script] = counts.get(script, 0) + (_WORD if script in _DENSE else 1)
    if not counts:
        return ""
    kana = counts.get("kana", 0)
    if kana and kana >= _KANA * (kana + counts.get("han", 0)):
        counts["kana"] = kana + counts.pop("han", 0)
    most = max(counts, key=lambda script: counts[script])
    return most if most != "latin" else _latin_language(part)


@lru_cache(4_096)
def _detect_script(char: str) -> str:
    code = ord(char)
    if code < 0x250 or 0x1E00 <= code < 0x1F00:
        return "latin"
    return next((name for name, first, last in _SCRIPTS if first <= code <= last), "other")


def _latin_language(text: str) -> str:
    words = text.lower().replace("’", "'").split()
    bare = [word.strip(".,;:!?¿¡()\"'") for word in words]
    other = sum(word in _OTHERS for word in bare) + (not text.isascii() and any(_has_non_english_letter(word) for word in bare))
    return "latin" if other > sum(word in _ENGLISH for word in bare) else "english"


def _has_non_english_letter(word: str) -> bool:
    return any(char.isalpha() and not char.isascii() for char in word)


_USUAL, _SELDOM = 0.05, 0.31  # cosines of unrelated texts on the common scale: the mean, and the one that 1 in 200 pairs reaches


class SimilarityScale(NamedTuple):
    """A linear map from cosines to the common scale."""

    gain: float = 1.0
    shift: float = 0.0

    def to_common_scale(self, cosine: float) -> float:
        """Convert a cosine to the common scale; the result is at most 1."""
        return min(1.0, self.gain * cosine + self.shift)


def find_scale(model: str, question: str, *, request: bool = False) -> SimilarityScale | None:
    """The scale for a question's language. None if the model does not know the language, because its cosines then say nothing.

    ``request`` means that the question was embedded as a request.
    """
    languages = _load_table("levels").get(f"{model}, requests" if request else model)
    if languages is None:
        return SimilarityScale()
    known = languages.get(detect_language(question))
    if known is None:
        return None
    usual, seldom = known
    gain = (_SELDOM - _USUAL) / (seldom - usual)
    return SimilarityScale(gain, _USUAL - gain * usual)


_CERTAIN = 0.5  # a message with at least these log odds counts as asking for something remembered


def find_asked(model: str, question: "NDArray[np.float32]") -> "tuple[float, NDArray[np.float32]]":
    """Two results for a message with this vector: the doubt that it needs any memory, and the vector of the memories that it needs.

    The doubt is in log odds. It is 0 if the message does ask for something remembered. The dot product of the second result
    and a memory's vector is the number of deviations to add to that memory. Both results are zero for a model that is not in
    ``asking.json``.
    """
    need = question * 0
    table = _load_table("asking").get(model)
    if table is None:
        return 0.0, need
    import numpy as np  # noqa: PLC0415 - numpy is heavy, and already imported if the question is a vector

    asking, helping = np.frombuffer(b64decode(table["needs"]), np.int8).reshape(2, len(table["weights"]), -1).astype(np.float32)
    meaning = question[-len(asking) :] / (hypot(*question[-len(asking) :]) or 1.0)
    need[-len(asking) :] = table["need"] * helping @ (meaning @ asking)
    return max(0.0, _CERTAIN - table["bias"] - table["scale"] * float(meaning @ np.array(table["weights"]))), need


@lru_cache(2)
def _load_table(name: str) -> dict[str, Any]:
    """Load a JSON file beside this module: a table for each model, by its name."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    return found
