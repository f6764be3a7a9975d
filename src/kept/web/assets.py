"""What pages are made of: style, scripts, pictures. Read once; each is served under the hash of its bytes, and never traversed
to.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER, _ANEW = "public, max-age=31536000, immutable", "no-cache"

router = APIRouter()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A file as it is served. ``mark`` is the beginning of the hash of its bytes."""

    data: bytes
    mark: str
    kind: str


@cache
def load_assets() -> Mapping[str, Asset]:
    """Every file that is served, by its name."""
    found = {}
    for traversable in files("kept.web").joinpath("static").iterdir():
        kind = _TYPES.get(traversable.name.rpartition(".")[2])
        if kind is not None:
            data = traversable.read_bytes()
            found[traversable.name] = Asset(data=data, mark=hashlib.sha256(data).hexdigest()[:16], kind=kind)
    return found


def asset_url(name: str) -> str:
    """Where a file is found, for as long as its bytes are these."""
    return f"/static/{name}?{load_assets()[name].mark}"


@router.get("/static/{name}", include_in_schema=False)
def static(request: Request, name: str) -> Response:
    """A file, to be kept for good under the hash of its bytes."""
    asset = load_assets().get(name)
    if asset is None:
        raise HTTPException(404)
    headers = {"etag": f'"{asset.mark}"', "cache-control": _FOREVER if request.url.query == asset.mark else _ANEW}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, media_type=asset.kind, headers=headers)
