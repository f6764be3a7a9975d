"""An agent with a memory: what it hears is kept, what is worth knowing comes before each answer.

Run it from a checkout: ``.venv/bin/python examples/agent.py``. It needs no model; ``answer`` stands for yours.
"""

import kept


def answer(context: str, recent: list[str], message: str) -> str:
    """Your model: here it only shows what it would be given."""
    return f"(with {len(context.split())} words of memory and {len(recent)} recent entries) {message.upper()}"


with kept.Memory.open(project=".") as memory:
    while message := input("you> ").strip():
        context = memory.context(message)
        recent = [each.text for each in memory.recent().entries]
        memory.observe({"role": "user", "content": message})
        reply = answer(context, recent, message)
        memory.observe({"role": "assistant", "content": reply})
        print(reply)
    report = memory.end_session()
    print(f"learnt {len(report.new)} things")
