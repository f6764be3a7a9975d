"""An agent with a memory: it records each message, and gets relevant memories before each answer.

Run it from a checkout: ``.venv/bin/python examples/agent.py``. It needs no model; ``answer`` stands for yours. Type "In this
project we always use pnpm, never npm" to see a statement that is noticed at once. Less certain ones are judged at the end.
"""

import kept


def answer(context: str, recent: list[str], message: str) -> str:
    """Your model: here it only shows what it would be given."""
    return f"(with {len(context.split())} words of memory and {len(recent)} recent entries) {message.upper()}"


with kept.Memory.open(project=".") as memory:
    while message := input("you> ").strip():
        context = memory.context(message).text
        recent = [each.text for each in memory.recent().entries]
        noticed = memory.observe({"role": "user", "content": message})
        for each in noticed.live:
            print(f"(noted: {each.content})")
        reply = answer(context, recent, message)
        memory.observe({"role": "assistant", "content": reply})
        print(reply)
    learnt = memory.end_session()
    print(f"learnt {len(learnt.new)} things")
