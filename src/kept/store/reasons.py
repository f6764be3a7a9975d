"""Reasons that earlier versions of kept stored in other words. They are read in the present words."""

_TODAY = {
    "the passage alone does not say what is claimed": "it says more than the passage it cites",
    "it takes back what was told before, and which of that is not clear": (
        "it takes back something you said before, and it is unclear what"
    ),
    "the agent worded it as an option, which was chosen": "you chose it from options that the agent worded",
    "nothing shows that the person typed it: a program, an agent or somebody else may have": (
        "it is not certain that you typed it: it may come from a program, an agent or somebody else"
    ),
    "the same words stand around it each time: it may be a text that comes back with other values": (
        "the text around it is the same each time, so it may come from a template"
    ),
    "the passage is a part of a sentence whose rest may turn it around": (
        "it is part of a sentence, and the rest may change what it means"
    ),
    "the line before the passage may say the opposite of it, or whose words it is": (
        "the line before it may reverse it, or say that somebody else wrote it"
    ),
    "orders a note without words to keep": "it asks for a note but says nothing to remember",
    "the passage stands in a question": "it is part of a question",
    "the passage hangs on a condition or a doubt": "it depends on a condition or a doubt",
    "the passage may hold for one occasion only": "may hold for one occasion only",
    "the passage is content to be written elsewhere": "it is text that was to be written somewhere else",
    "the passage may be the words of another author": "it may be the words of another author",
    "the person takes the passage back or denies it": "you took it back or denied it",
    "the passage may be meant as a joke": "it may be meant as a joke",
    "points at something outside of its words": "it refers to something that it does not name",
    "the rules of this language are not measured yet": "kept's rules for this language are not tested yet",
    "it says otherwise what was told before": "it gives a new value to something you said before",
    "its evidence is no longer proposed": "the words it rests on are read differently now",
    "an entry says what is or was remembered of its project": "a journal entry repeats what kept remembers of its project",
}
_HEADS = ("held: ", "kept refused it: ")  # a memory's reason may begin with one of these, before a reason of the table


def renew_reason(reason: str) -> str:
    """A stored reason in the present words. Text before it stays, and so does text in brackets after it."""
    head = next((head for head in _HEADS if reason.startswith(head)), "")
    stored, bracket, rest = reason.removeprefix(head).partition(" (")
    return f"{head}{_TODAY[stored]}{bracket}{rest}" if stored in _TODAY else reason
