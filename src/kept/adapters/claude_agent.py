"""Claude Agent SDK: hooks that add memory before each prompt, and observe prompts, tool calls and answers.

Pass ``ClaudeAgentOptions(hooks=hooks(memory))``, and call ``memory.end_session()`` when the client is closed.
"""

import json
from typing import Any

from claude_agent_sdk import HookContext, HookMatcher
from claude_agent_sdk.types import HookEvent

from kept.api import AsyncMemory


def hooks(memory: AsyncMemory, *, budget: int | None = None) -> dict[HookEvent, list[HookMatcher]]:
    """Return the hooks of one session. ``budget`` is in tokens."""

    async def before_prompt(given: Any, _: str | None, __: HookContext) -> Any:
        prompt = str(given.get("prompt", ""))
        context = await memory.context(prompt, budget=budget)
        await memory.observe({"role": "user", "content": prompt})
        if not context:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context.text}}

    async def after_tool(given: Any, number: str | None, _: HookContext) -> Any:
        failed = given.get("hook_event_name") == "PostToolUseFailure"
        response = given.get("error") if failed else given.get("tool_response")
        result = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False, default=str)
        call = {"type": "tool_use", "id": number or "", "name": given.get("tool_name"), "input": given.get("tool_input")}
        back = {"type": "tool_result", "tool_use_id": number or "", "content": result, "is_error": failed}
        await memory.observe([{"role": "assistant", "content": [call]}, {"role": "user", "content": [back]}])
        return {}

    async def after_answer(given: Any, _: str | None, __: HookContext) -> Any:
        answer = str(given.get("last_assistant_message") or "")
        if answer:
            await memory.observe({"role": "assistant", "content": answer})
        return {}

    return {
        "UserPromptSubmit": [HookMatcher(hooks=[before_prompt])],
        "PostToolUse": [HookMatcher(hooks=[after_tool])],
        "PostToolUseFailure": [HookMatcher(hooks=[after_tool])],
        "Stop": [HookMatcher(hooks=[after_answer])],
    }
