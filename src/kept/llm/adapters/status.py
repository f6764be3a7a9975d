"""What a vendor's HTTP answer says about trying again. Both vendors' libraries tell it in the same shape."""

from collections.abc import Mapping
from typing import Any

from kept.core.invisible import strip_invisible
from kept.core.text import one_line
from kept.llm.adapters.base import AdapterFailure
from kept.llm.ask import Fault

_FAULTS = {401: Fault.SETUP, 402: Fault.SETUP, 403: Fault.SETUP, 404: Fault.SETUP, 408: Fault.OVERLOADED, 429: Fault.RATE_LIMIT}
_TOLD = 200  # characters of a server's sentence that are passed on


def from_status(status: int, headers: Mapping[str, str], body: object) -> AdapterFailure:
    """Why a server that answered with an error status gave no reply, and how long it asks to wait."""
    fault = _FAULTS.get(status, Fault.OVERLOADED if status >= 500 else Fault.FAILED)
    told = _sentence(body)
    reason = f"the server answered {status}{': ' if told else ''}{told}"
    return AdapterFailure(fault=fault, reason=reason, after=_parse_seconds(headers.get("retry-after", "")))


def from_error(error: Exception, *, connection: bool) -> AdapterFailure:
    """Why there is no reply where the server could not be reached, the connection broke, or what came was no message."""
    if connection:
        return AdapterFailure(fault=Fault.CONNECTION, reason="the server cannot be reached, or the connection broke")
    return AdapterFailure(fault=Fault.FAILED, reason=f"what the server sent is no reply of its kind ({type(error).__name__})")


def _sentence(body: object) -> str:
    """What the server says in its error, as one short line."""
    error: Any = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message") if isinstance(error, dict) else error
    return one_line(strip_invisible(message)[0])[:_TOLD] if isinstance(message, str) else ""


def _parse_seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None  # a date, or nothing: our own pause will do
