"""The API for extraction prompts: read the prompt of a profile, replace it, restore the default."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from kept.core.codec import json_fields
from kept.extraction import prompt_override
from kept.extraction.prompt_override import PromptState
from kept.extraction.questions.turns import estimate_tokens_high
from kept.web.api.models import Body, EmptyBody, IfMatch
from kept.web.context import request_home, web_context

router = APIRouter(tags=["prompts"])

Which = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,80}$", description="The id of a profile.")]


class CategoryOut(BaseModel):
    """A category that the prompt declares."""

    id: str
    title: str
    belongs: str
    users_words: bool


class PromptOut(BaseModel):
    """The extraction prompt that a profile uses."""

    profile: str
    overridden: bool = Field(description="Whether the person's own text is used.")
    origin: str = Field(description="The file it is from, or `built in`.")
    own: str = Field(description="The path of the person's own text, whether it exists or not.")
    text: str
    system: str = Field(description="The whole text that a model gets; empty if the prompt is invalid.")
    version: str
    tokens: int = Field(description="About how many tokens that is.")
    declared: list[CategoryOut]
    diff: list[str] = Field(description="The lines of a unified diff from the built-in prompt; empty if it is the built-in prompt.")
    problem: str = Field(description="Why the prompt is invalid; empty if it is valid.")
    revision: str = Field(description="Send it as If-Match.")


class PromptBody(Body):
    """The text of a prompt of the person's own."""

    text: Annotated[str, Field(min_length=1, max_length=200_000)]


@router.get("/prompts/{profile}", response_model=PromptOut)
def get_prompt(request: Request, answer: Response, profile: Which) -> dict[str, Any]:
    """Return the prompt of a profile. The ETag is its revision."""
    return _prompt_response(answer, prompt_override.load_prompt_state(request_home(request), profile))


@router.put("/prompts/{profile}", response_model=PromptOut)
def save_prompt(request: Request, answer: Response, profile: Which, body: PromptBody, if_match: IfMatch) -> dict[str, Any]:
    """Replace the prompt of a profile by a text of the person's own. An invalid text is refused.

    The previous prompt is kept as a copy.
    """
    home = request_home(request)
    with web_context(request).change_lock:
        return _prompt_response(answer, prompt_override.save_own_prompt(home, profile, body.text, if_match=if_match))


@router.post("/prompts/{profile}/reset", response_model=PromptOut)
def reset_prompt(request: Request, answer: Response, profile: Which, body: EmptyBody, if_match: IfMatch) -> dict[str, Any]:
    """Restore the default prompt of a profile. The person's own prompt is kept as a copy."""
    home = request_home(request)
    with web_context(request).change_lock:
        prompt_override.remove_own_prompt(home, profile, if_match=if_match)
        return _prompt_response(answer, prompt_override.load_prompt_state(home, profile))


def _prompt_response(answer: Response, draft: PromptState) -> dict[str, Any]:
    answer.headers["etag"] = f'"{draft.revision}"'
    return _draft_body(draft)


def _draft_body(draft: PromptState) -> dict[str, Any]:
    prompt = draft.prompt
    return json_fields(draft, "overridden", "origin", "own", "text", "problem", "revision", profile="profile.id") | {
        "system": prompt.system if prompt else "",
        "version": prompt.version if prompt else "",
        "tokens": estimate_tokens_high(prompt.system) if prompt else 0,
        "diff": prompt_override.diff_prompt(draft),
        "declared": [
            json_fields(category, "id", "title", "belongs", "users_words") for category in (prompt.declared if prompt else ())
        ],
    }
