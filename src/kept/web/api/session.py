"""Sign in. A browser sends the key once and gets a cookie that scripts cannot read."""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StringConstraints
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kept.web.context import web_context

router = APIRouter(tags=["session"])


class KeyBody(BaseModel):
    """The key of the running ``kept web``. It is the part after ``#`` in the address that the command printed."""

    key: Annotated[str, StringConstraints(max_length=200)] = Field(description="The part of the address after #.")


@router.post("/session", status_code=204)
def sign_in(request: Request, body: KeyBody) -> Response:
    """Check the key and set the session cookie."""
    web = web_context(request)
    if not web.is_key(body.key):
        raise HTTPException(403, "this is not the key of the running `kept web`")
    answer = Response(status_code=204)
    answer.set_cookie(web.cookie, web.session, httponly=True, samesite="strict", path="/")
    return answer
