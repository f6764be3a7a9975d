"""Find trigger words in a typed prompt. They show that it may contain something that later sessions need. A trigger causes a
reminder, never a memory.

Recall matters more than precision, because a reminder costs a few tokens and a miss costs the memory. The words of all languages
are searched at once and without a regular expression, because a hook waits for this module.
"""

from kept.core.text import word_set

_EXAMINED = 8_000  # characters of a prompt that are examined, half from each end
_LEAST_WORDS = 4  # a shorter prompt cannot contain a passage worth handing over
_LEAST_UNSPACED = 8  # the same limit in characters, for a script without spaces
_LEAST_WEAK = 2  # number of different weak words that together are a trigger
# Rules, corrections, decisions, preferences, causes; a line or two per language. One of them is enough.
_WORDS = word_set(
    "always never must mustn't should shouldn't instead rather actually ensure avoid forbid forbidden remember reminder "
    "decided decide "
    "decision choose chose chosen prefer preferred preference stick because since therefore otherwise cause reason due "
    "convention rule "
    "policy principle guideline requirement required requires deploy production purpose regardless future "
    "immer nie niemals muss müssen darf dürfen soll sollen sollte sollten sondern stattdessen statt lieber bevorzuge "
    "bevorzugt stets merke "
    "entschieden entscheidung weil deshalb daher sonst grund ursache regel vorgabe eigentlich künftig zukünftig "
    "toujours jamais doit doivent devons faut devrait devraient plutôt préfère préférons évite éviter souviens rappelle "
    "décidé décision "
    "choisi parce sinon raison règle convention désormais "
    "siempre nunca debe deben debemos debería deberían prefiero preferimos evita evitar recuerda decidido decidimos "
    "decisión elegido "
    "porque sino razón causa regla convención obligatorio "
    "sempre deve devem devemos deveria deveriam prefiro preferimos evite lembre lembra decidimos escolhido pois senão razão regra "
    "convenção obrigatório"
)
_PHRASE_TEXT = (
    "make sure, be sure, have to, has to, need to, needs to, from now on, going forward, for now, for the time being, "
    "going with, go with, let's use, lets use, we use, we are using, we will, we want, we have, we don't, we dont, "
    "please use, keep in mind, have in mind, note that, that's why, thats why, turns out, the problem was, the issue was, "
    "on purpose, by design, by default, as long as, no need, my machine, my server, our server, please don't, please dont, "
    "ab jetzt, von nun an, merk dir, denk daran, wir nutzen, wir verwenden, wir wollen, achte darauf, das problem war, "
    "es lag an, bitte nicht, bitte kein, bitte keine, "
    "à partir de maintenant, au lieu de, on utilise, nous utilisons, il faut, assure-toi, assurez-vous, à l'avenir, "
    "n'oublie pas, "
    "a partir de ahora, en lugar de, en vez de, usamos, queremos, asegúrate, hay que, tiene que, ten en cuenta, "
    "a partir de agora, em vez de, ao invés de, certifique-se, tem que, daqui em diante, leve em conta"
)
_PHRASES = _PHRASE_TEXT.split(", ")
_UNSPACED = word_set(
    "总是 始终 永远 从不 不要 不能 不应 必须 务必 应该 应当 记住 决定 选择 而不是 改用 因为 所以 原因 以后 今后 每次 "
    "只能 只用 确保 避免 偏好 我们用 我们使用 规则 约定 禁止 必ず いつも 常に 絶対 決して ないで べき 覚えて 決め "
    "ではなく 代わりに ため 理由 原因 今後 これから 毎回 避け ルール 規約 禁止"
)
# Negations, wishes and limits. Every bug report contains one, so two different ones are needed.
_WEAK_WORDS = word_set(
    "no not don't dont doesn't doesnt won't wont isn't cannot can't cant wrong incorrect only every each anymore want "
    "wanted like hate "
    "nicht kein keine keinen falsch nur jede jedes jeden will möchte mag "
    "pas incorrect seulement chaque veux voudrais aime "
    "incorrecto mejor solo sólo cada quiero quisiera gusta "
    "não errado melhor somente apenas quero gostaria gosto"
)


def has_trigger(prompt: str) -> bool:
    """True if a typed prompt may contain a rule, decision, correction, constraint, preference or cause."""
    text = _strip_code(prompt if len(prompt) <= _EXAMINED else f"{prompt[: _EXAMINED // 2]}\n{prompt[-_EXAMINED // 2 :]}")
    words = [
        word.strip("'-")
        for word in "".join(char if char.isalnum() or char in "'’-" else " " for char in text).replace("’", "'").split()
    ]
    unspaced = 0 if text.isascii() else sum(1 for char in text if "\u3040" <= char <= "\u9fff")
    if len(words) < _LEAST_WORDS and unspaced < _LEAST_UNSPACED:
        return False
    folded = frozenset(word.casefold() for word in words)
    if not _WORDS.isdisjoint(folded) or len(_WEAK_WORDS & folded) >= _LEAST_WEAK:
        return True
    line = f" {' '.join(words).casefold()} "
    return any(f" {phrase} " in line for phrase in _PHRASES) or (unspaced > 0 and any(word in text for word in _UNSPACED))


def _strip_code(text: str) -> str:
    """Remove fenced blocks and quoted lines, because they are not typed."""
    lines, fence = [], False
    for line in text.split("\n"):
        bare = line.lstrip()
        if bare.startswith(("```", "~~~")):
            fence = not fence
        elif not fence and not bare.startswith(">"):
            lines.append(line)
    return "\n".join(lines)
