"""Prompts that a program wrote, and what clients put around a person's: scripted roles, IDE blocks, hooks, plans, slash
commands.
"""

from kept.core.pattern import Pattern
from kept.core.spans.marks import SpanKind, SpanMarks

# What clients write in the person's name, by how it opens. All of the prompt is theirs.
_OPENINGS = Pattern(
    r"^\s*(?:Caveat: The messages below were generated|Operation stopped by hook"
    r"|Base directory for this skill:|Implement the following plan:"
    r"|\[Request interrupted by user|<observed_from_primary_session>|Hello memory agent|You are a Claude-Mem"
    r"|Your task is to create a detailed summary"
    r"|The user (?:opened|selected|sent)|Please continue the conversation from where we left|Continue from where you left off\."
    r"|Unknown (?:slash )?command:|API Error:|\[Image: source:)"
)
# Lines by which a harness announces words that it passes on; all that follows is theirs: the name of an event's hook and what
# became of it, a notice of several words in bracketed capitals, a message of another session or agent.
_ANNOUNCED = Pattern(
    r"(?m)^[ \t]*(?:(?:[A-Z][a-z]+){1,4}(?::[^\s:]{1,60})? hook(?:[ -][a-z-]+){1,3}:"
    r"|\[[A-Z]{2,}(?:[ _:,/–—-]+[A-Z]{2,}){2,}[^\]a-z\n]{0,40}\]"
    r"|\[(?:SYSTEM|AUTOMATED|HARNESS|AGENT|TOOL|HOOK)[ _-][A-Z _-]{2,40}\]"
    r"|(?i:(?:another|a different|the other|a parallel|a peer)(?: [\w-]+){0,2} (?:session|agent|subagent|sub-agent"
    r"|instance|teammate|worker)(?: [\w-]+){0,2} (?:sent|says|said|wrote|writes|reports?|asks|asked|replied)\b[^:\n]{0,40}:"
    r"|(?:message|reply|note|report|instructions?) from (?:another |the |a |an )?(?:other )?(?:[\w-]+ )?(?:session|agent|subagent"
    r"|sub-agent|instance|teammate|worker)\b[^:\n]{0,40}:))"
)
# A client's stand-in for a paste, and how many lines were pasted.
_PASTED = Pattern(r"\[(?:Pasted|Truncated) text #\d+(?: \+(\d{1,5}) lines?)?[^\]\n]{0,20}\]")
# What a client puts where it cut a conversation; it may stand below words that were queued.
_CONTINUED = Pattern(r"(?m)^This session is being continued from a previous conversation")
# The editor's words for a prompt file that the person chose; what stands behind them is the person's.
_PROMPT_FILE = Pattern(r"^\s*Follow instructions in \[[^\]\n]*\]\([^)\n]*\)\.?")
_ROLE = Pattern(
    r"(?i)^\s*(?:#[^\n]*\n+)?\s*(?:you are|you're|act as|du bist|sie sind|tu es|vous êtes|agis comme|eres|actúa como"
    r"|você é|aja como|你是|あなたは)\s*"
    r"(?:an? |the |eine?n? |une? |una? |umae? |一个|一名|一位)?\S"
)
_SCRIPTED = Pattern(
    r"(?i)(?:\b(?:your (?:task|job|role|goal|output|response)|respond (?:only|with)|return (?:only|json|a json)"
    r"|output (?:only|format|json)|do not include"
    r"|reply with|answer only|valid json|guidelines|steps?:|rules:|format:|deine aufgabe|antworte nur|ta tâche"
    r"|réponds uniquement|tu tarea|responde solo"
    r"|sua tarefa|responda apenas)\b|你的任务|只输出|あなたの(?:タスク|役割))"
)
_IDE = Pattern(r"(?m)^\s*# Context from my IDE setup:")
_REQUEST = Pattern(r"(?m)^#{1,3} My request for \w+:[ \t]*\n?")
# A program's template that puts what it retrieved before a person's question: the line of the question, and what names the rest.
_QUESTION = Pattern(
    r"(?im)^[ \t#*]*(?:the |my )?(?:user(?:['’]s)? |human |original |final )?(?:question|query|input|frage|anfrage|pregunta"
    r"|consulta|domanda|pergunta|вопрос|问题|質問)[ \t*]*[:：]"
)
_RETRIEVED = Pattern(
    r"(?i)\b(?:following|below|provided|given|retrieved|relevant|supplied)\b[^.\n]{0,40}?\b(?:contexts?|documents?|passages?"
    r"|information|excerpts?|sources?|results|chunks?|snippets?|articles?|knowledge|memor(?:y|ies)|notes|kontext|dokumente?|texte?)\b"
    r"|(?m:^[ \t#*]*(?:context|documents?|passages?|retrieved|sources?|search results|knowledge(?: base)?|chunks?|excerpts?|kontext"
    r"|dokumente?|contexto|contexte|contesto|контекст|上下文|文脈)(?:[ \t]*\d+)?[ \t*]*[:：])"
)
_COMMAND = Pattern(r"^\s*(/[A-Za-z][\w-]*(?::[\w-]+)*)(?:\s|$)")
_WRAPPED = Pattern(r"<command-(?:name|message)>\s*/?([\w:-]{1,60})\s*</command-(?:name|message)>")
# Commands of clients that take no free text: whatever stands behind them was not said to the agent.
_CLOSED = frozenset(
    {
        *("add", "add-dir", "agents", "approvals", "bug", "clear", "config", "context", "copy", "cost", "diff"),
        *("doctor", "drop", "exit", "export", "fast", "feedback", "fork", "git", "help", "hooks", "ide", "init"),
        *("login", "logout", "ls", "mcp", "memory", "model", "new", "output-style", "permissions", "plugin"),
        *("plugins", "quit", "redo", "release-notes", "reload-plugins", "rename", "reset", "resume", "rewind"),
        *("run", "settings", "stats", "status", "statusline", "tasks", "terminal-setup", "test", "theme", "tokens"),
        *("undo", "usage", "vim"),
    }
)


def mark_program(marks: SpanMarks) -> None:
    """Mark a prompt that a program wrote; of an IDE's block the person's request is left."""
    text = marks.text
    continued = _CONTINUED.search(text)
    announced = _ANNOUNCED.search(text)
    if announced:
        marks.mark(announced.start(), len(text), SpanKind.HARNESS)
    _mark_pastes(marks)
    if _OPENINGS.match(text):
        marks.mark(0, len(text), SpanKind.PROGRAM)
    elif continued:
        marks.mark(continued.start(), len(text), SpanKind.PROGRAM)
    elif _IDE.match(text):
        request = _REQUEST.search(text)
        marks.mark(0, request.end() if request else len(text), SpanKind.HARNESS)
    elif template := _template_end(text):
        marks.mark(0, template, SpanKind.PROGRAM)
    elif match := _PROMPT_FILE.match(text):
        marks.mark(0, match.end(), SpanKind.COMMAND)
    elif _is_scripted_prompt(text):
        marks.mark(0, len(text), SpanKind.PROGRAM)


def _template_end(text: str) -> int:
    """Where the question begins in a prompt that a program filled with what it retrieved; 0 in any other."""
    questions = list(_QUESTION.finditer(text)) if ":" in text or "：" in text else []
    return questions[-1].end() if questions and _RETRIEVED.search(text[: questions[-1].start()]) else 0


def _mark_pastes(marks: SpanMarks) -> None:
    """Mark the stand-ins for pastes, with as many lines below each as were pasted; all of them where no number is named."""
    text = marks.text
    for match in _PASTED.finditer(text) if "[" in text else ():
        end = match.end()
        leads = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if leads or text[end : end + 1] == "\n":
            lines = text[end:].splitlines(keepends=True)
            end += sum(map(len, lines[: int(match[1]) + 1] if match[1] else lines))
        marks.mark(match.start(), end, SpanKind.PASTED)


def _is_scripted_prompt(text: str) -> bool:
    """Whether a prompt gives a role to a model, as programs do: with instructions for its output, or at length."""
    return bool(_ROLE.match(text)) and (bool(_SCRIPTED.search(text)) or text.count("\n") > 5 or len(text) > 600)


def mark_command(marks: SpanMarks) -> None:
    """Mark the name of a slash command, and all of one that takes no words."""
    match = _COMMAND.match(marks.text)
    if match:
        closed = match[1][1:].casefold() in _CLOSED
        marks.mark(0, len(marks.text) if closed else match.end(1), SpanKind.COMMAND)
    for wrapped in _WRAPPED.finditer(marks.text) if "<command-" in marks.text else ():
        closed = wrapped[1].casefold() in _CLOSED
        marks.mark(wrapped.start(), len(marks.text) if closed else wrapped.end(), SpanKind.COMMAND)
