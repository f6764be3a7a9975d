"""An agent with a memory: what it hears is kept, what is worth knowing comes before each answer.

Run it from a checkout: ``.venv/bin/python examples/agent.py``. It needs no model; ``answer`` stands for yours. Say "In this project
we always use pnpm, never npm" to see what is noted while you talk; what is less sure waits for the end of the session.
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
