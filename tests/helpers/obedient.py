"""A scripted model for tests: it follows the prompt and answers by simple rules. It uses nothing but the prompt."""

import re

_EVENT = re.compile(r"(?m)^\[(e\d+)\] (person|assistant|call|output)( \(failed[^)]*\))?:? ?")
_HINT = re.compile(r"^(h\d+) \((\w+)\): (.+)$")
_RULES = (
    ("constraint", re.compile(r"\b(?:always|never|must not|must)\b", re.IGNORECASE)),
    ("decision", re.compile(r"\b(?:we decided|we chose|let's go with|we will use)\b", re.IGNORECASE)),
    ("preference", re.compile(r"\bi (?:prefer|like|want you to)\b", re.IGNORECASE)),
)


def events(prompt):
    """The events in the part to read, as (id, author, failed, text)."""
    part = prompt.split("<conversation>\n", 1)[1].split("\n</conversation>", 1)[0]
    heads = list(_EVENT.finditer(part))
    stops = [each.start() for each in heads[1:]] + [len(part)]
    return [(head[1], head[2], bool(head[3]), part[head.end() : stop].strip()) for head, stop in zip(heads, stops, strict=False)]


def obey(ask):
    """The reply to a question: a memory for each sentence of the person that states a rule, a verdict on each hint, and notes."""
    if ask.purpose == "summary":
        return _put_together(ask)
    if ask.purpose in ("curate", "outdated"):
        return {"operations": []}
    if ask.purpose == "recheck":
        return {"sentences": []}
    if ask.purpose == "proofread":
        return {"lines": []}
    if ask.purpose == "requests":
        return {"memories": []}
    allowed = re.findall(r"(?m)^- (\w+): ", ask.system)
    memories, hints = [], []
    notes = {"problems": [], "solutions": [], "decisions": [], "questions": []}
    broken = False
    for name, author, failed, text in events(ask.prompt):
        for sentence in re.split(r"(?<=[.!?])\s+", text) if author == "person" else ():
            category = next((kind for kind, rule in _RULES if rule.search(sentence)), "")
            if category in allowed and not sentence.endswith("?"):
                memories.append({"category": category, "event": name, "passage": sentence})
                if category == "decision":
                    notes["decisions"].append({"text": sentence[:200], "events": [name]})
            elif sentence.endswith("?"):
                notes["questions"].append({"text": sentence[:200], "events": [name]})
        if failed:
            notes["problems"].append({"text": text.splitlines()[0][:200] if text else "", "events": [name]})
            broken = True
        elif author == "output" and broken:
            broken = False
    for line in ask.prompt.rpartition("</conversation>")[2].splitlines():
        if found := _HINT.match(line):
            good = len(found[3].split()) > 4
            hints.append(
                {"hint": found[1], "verdict": "confirm" if good else "refuse", "content": "", "reason": "" if good else "too short"}
            )
    return {"memories": memories, "notes": notes} | ({"hints": hints} if hints else {})


def _put_together(ask):
    """The summary of a day: each of its points, unchanged."""
    sums = {kind: [] for kind in ("problems", "solutions", "decisions", "questions")}
    for name, kind, text in re.findall(r"(?m)^(p\d+) \((\w+)\): (.+)$", ask.prompt):
        sums[kind].append({"text": text, "points": [name]})
    return sums
