"""What a question to a model costs, by a dated table. Knows no vendor's bill: what it says is an upper bound where caching is in
play.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """USD for a million tokens, up to ``tier`` prompt tokens and above; ``read`` is what cached input costs of it, ``batch`` a
    batch.
    """

    input: float
    output: float
    tier: int = 0
    input_above: float = 0.0
    output_above: float = 0.0
    read: float = 1.0
    batch: float = 1.0

    def cost(self, *, tokens_in: int, tokens_out: int, cached: int = 0, batched: bool = False) -> float:
        """What one question costs, in USD."""
        above = bool(self.tier) and tokens_in > self.tier
        each_in, each_out = (self.input_above, self.output_above) if above else (self.input, self.output)
        plain = each_in * (tokens_in - cached * (1 - self.read)) + each_out * tokens_out
        return plain / 1e6 * (self.batch if batched else 1.0)


def price_of(model: str) -> Price | None:
    """The price of a model by its name, whatever stands before the last ``:`` or ``/``; None where the table does not know it."""
    plain = model.rpartition(":")[2].rpartition("/")[2]
    known = _load_price_table()["models"]
    found = max((item for item in known if plain.startswith(item)), key=len, default="")
    return _price(known[found]) if found else None


def price_table_date() -> str:
    """The day the table is of."""
    return str(_load_price_table()["date"])


def _price(row: Mapping[str, Any]) -> Price:
    above = row.get("above", {})
    return Price(
        input=row["input"],
        output=row["output"],
        tier=above.get("tokens", 0),
        input_above=above.get("input", 0.0),
        output_above=above.get("output", 0.0),
        read=row.get("read", 1.0),
        batch=_load_price_table()["batch"],
    )


@cache
def _load_price_table() -> dict[str, Any]:
    return tomllib.loads(files("kept.llm").joinpath("prices.toml").read_text(encoding="utf-8"))
