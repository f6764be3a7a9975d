"""Errors as a person and a program see them: a status and one clear line. No traceback and no word of a transcript."""

from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field

from kept.core.errors import (
    BusyError,
    ChangedError,
    ConfigError,
    GuardError,
    KeptError,
    MissingError,
    RefusedPathError,
    StaleError,
    StoreError,
    TerminalOnlyError,
    UsageError,
)


class Problem(BaseModel):
    """What went wrong, in one line: what, where, and what to do next."""

    error: str = Field(description="What happened, as a clause.")
    where: str = Field(default="", description="The memory, file or setting it is about; empty where there is none to name.")
    hint: str = Field(default="", description="What to do next; empty where nothing can be done.")


def http_status(error: KeptError) -> int:
    """The status an error is answered with."""
    match error:
        case StaleError():
            return HTTPStatus.PRECONDITION_FAILED
        case MissingError():
            return HTTPStatus.NOT_FOUND
        case RefusedPathError() | TerminalOnlyError():
            return HTTPStatus.FORBIDDEN
        case UsageError() | ConfigError() | BusyError() | ChangedError() | GuardError():
            return HTTPStatus.CONFLICT
        case StoreError():
            return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem_body(error: KeptError) -> dict[str, Any]:
    """The error as JSON."""
    return {"error": error.what, "where": error.where, "hint": error.hint}


DOCUMENTED: dict[int | str, dict[str, Any]] = {
    int(status): {"model": Problem, "description": text}
    for status, text in (
        (HTTPStatus.BAD_REQUEST, "It is no request this page understands."),
        (HTTPStatus.UNAUTHORIZED, "Nobody is signed in."),
        (HTTPStatus.FORBIDDEN, "It does not come from this page, or asks for what may not be."),
        (HTTPStatus.NOT_FOUND, "There is no such thing."),
        (HTTPStatus.CONFLICT, "It conflicts with the current state."),
        (HTTPStatus.PRECONDITION_FAILED, "It is no longer what you saw; nothing was changed."),
        (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "It is too large."),
        (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "It is no JSON."),
        (HTTPStatus.UNPROCESSABLE_ENTITY, "It does not have the form that is described."),
        (HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be read or written."),
    )
}
"""The answers every operation of the API may give besides its own."""
