"""Whether a person asserts a passage of what they typed, judged by the sentences around it.

Reads seven languages side by side. Any sign to the contrary counts, for what is not sure waits for the person.
"""

from dataclasses import replace

import re2

from kept.core.sentences import Span, sentences

ASKED = "the passage stands in a question"
SUPPOSED = "the passage hangs on a condition or a doubt"
ONCE = "the passage may hold for one occasion only"
CONTENT = "the passage is content to be written elsewhere"
ANOTHERS = "the passage may be the words of another author"
WITHDRAWN = "the person takes the passage back or denies it"
_REQUEST = re2.compile(
    r"(?i)\b(?:can|could|would|will) you\b|\b(?:can|could|should) we (?:also |please |rather )|\bplease\b"
    r"|\b(?:how about|what about|why (?:don['’]t|not|do))\b|\bbitte\b|\b(?:kannst|könntest|würdest) du\b|\bpor favor\b"
    r"|\bpuedes\b|\bpodrías\b"
    r"|\bpeux-tu\b|\bpourrais-tu\b|\bpouvez-vous\b|\bpode\b|请|請|ください|くれ"
)
_ASKS = re2.compile(
    r"(?i)^\W*(?:(?:so|and|but|also|hm+|ok|okay)\W+)?(?:(?:should|shall|do|does|did|must|may|could|would) (?:we|i|they"
    r"|you|it|all)\b"
    r"|(?:is|are|was|were) (?:it|that|this|there|we|they)\b|is it (?:right|true)|(?:sollen|sollten|müssen|dürfen) wir\b"
    r"|soll ich\b"
    r"|stimmt es\b|est-ce que\b|(?:devons|devrions)-nous\b|será que\b|é verdade que\b|es cierto que\b)"
    r"|(?:吗|嗎|呢|ですか|ますか|でしょうか|べきか)\W*$|是不是|要不要|应不应该"
)
_CONDITION = (
    r"if|unless|whether|in case|suppose|supposing|assuming|provided|wenn|falls|sofern|ob|angenommen|si|s['’]ils?"
    r"|sauf si|à moins que|a menos que"
    r"|caso|supón|suposons|supposons|suponha"
)
_DOUBT = (
    r"wonder(?:ing)?|not sure|unsure|maybe|perhaps|what if|i doubt|frage mich|nicht sicher|vielleicht|eventuell"
    r"|me pregunto|no sé si"
    r"|quizás?|tal vez|me demande|pas sûr|peut-être|me pergunto|não sei se|talvez"
)
_UNSPACED_DOUBT = r"如果|要是|假如|万一|是否|也许|不确定|もし|かどうか|かもしれ|迷って"
_BEFORE = re2.compile(rf"(?i)\b(?:{_CONDITION}|{_DOUBT})\b|(?:^|[,;:]\s*)se\s|{_UNSPACED_DOUBT}")
_AFTER = re2.compile(
    rf"(?i)^[\s,;(]*(?:(?:but|and|only|aber|nur|mais|pero|mas|solo|só)\s+)*(?:{_CONDITION}|se)\b|^\W*(?:なら|たら"
    rf"|かどうか|かもしれ|的话)"
)
_WITHIN = re2.compile(
    rf"(?i)^\W*(?:i(?:['’]m| am)? )?(?:{_DOUBT})\b|\bif\b.{{1,120}}\b(?:were|was|had)\b.{{1,160}}(?:\b(?:would|could)\b"
    rf"|['’]d\b)"
    r"|\bwenn\b.{1,120}(?:wär|hätte|würde)|\bsi\b.{1,80}(?:fuera|fuéramos|fuese|tuvi[eé]ra|étions|était|avions|avait)"
    r"|\bse\b.{1,80}(?:fosse|fôssemos|tivesse|tivéssemos)|^\W*(?:假如|要是|もし)|かもしれ|也许"
)
_ONCE = re2.compile(
    r"(?i)\bonce\b\W*(?:[,.;!)]|$|to\b|and\b|for\b|so\b)|\b(?:just|only)\W(?:for )?(?:this|the) (?:one |once|time|run"
    r"|test)|\bone[- ]off\b|\bthis once\b"
    r"|\bfor this (?:one )?(?:run|test)\b|\b(?:nur )?dieses eine mal\b|\bdiesmal\b|\b(?:nur|mal) einmal\b"
    r"|\beinmal(?:ig)? (?:aus|ab|ohne|mit|zum)\b"
    r"|\b(?:por|solo) (?:esta|una) vez\b|\besta vez\b|\bune (?:seule )?fois\b|\bcette fois\b|\bs[óo] (?:uma"
    r"|desta) vez\b|\b(?:desta|uma) vez\b"
    r"|这一次|这次|一次|今回だけ|今回は|一度だけ|一回"
)
_PLACES = (
    r"readme\S*|docs?|documentation|changelog\S*|file|page|banner|message|commit|comment|docstring|title|heading|text"
    r"|label|tooltip|test|ticket|issue"
    r"|description|template|prompt|section|line|e-?mail|reply|post|slide|datei|seite|nachricht|kommentar|titel"
    r"|überschrift|doku\w*|archivo|página"
    r"|mensaje|comentario|título|fichier|message|commentaire|titre|arquivo|mensagem|comentário"
)
_CONTENT = re2.compile(
    r"(?i)\b(?:add|write|put|insert|append|paste|post|reply|answer|print|display|send|translate|change|replace|set"
    r"|commit|asserts?|include|say"
    r"|schreib\w*|füge?|setze?|ergänze?|ändere?|übersetze?|antworte?|añade|agrega|escribe|pon|cambia|traduce|responde"
    r"|ajoute\w*|écri[sv]\w*"
    r"|mets|change[rz]?|tradui\w*|adicion[ae]|acrescent[ae]|escrev[ae]|coloque|mude|traduz\w*)\b"
    rf".*(?:\b(?:{_PLACES})\b|\b(?:replies|says|reads)\b)|(?:添加|写|加|改|翻译|追加|書|訳).*"
)
_OWN = re2.compile(
    r"(?i)\b(?:memory|memories|remember|rules?|claude\.md|agents\.md|mind|gedächtnis|merk\w*|regeln?|memoria|mémoire"
    r"|memória|reglas?|règles?|regras?)\b|记忆|记住|覚え|记录"
)
_AUTHOR = re2.compile(
    r"(?i)^\W*(?:(?:here (?:is|are)|here['’]s|this is|forwarded|the|an?|our|hier ist|die|eine?|aquí está|el|voici|le|un"
    r"|aqui está|o|um)\W+)*"
    r"(?:e-?mail|mail|message|letter|memo|comment|review|post|article|guide|quote|excerpt|ticket|issue|reply|answer"
    r"|slack|nachricht|brief|kommentar"
    r"|artikel|auszug|correo|mensaje|carta|comentario|artículo|courriel|lettre|commentaire|mensagem|artigo)\b"
    r".{0,60}\b(?:from|by|of|von|vom|unsere[rs]|de|del|du|da|do|à)\b"
    r"|^\W*(?:from|von|aus|de|desde|fuente|source|quelle|fonte)\W.{1,80}[:：]\s*$|https?://\S+\s*[:：]?\s*$"
    r"|^\W*https?://\S+[:：]\s*$"
    r"|\b(?:wrote|writes|says|said|claims|schrieb|schreibt|sagte?|meint|escribió|dice|dijo|a écrit|écrit|dit|escreveu"
    r"|diz|disse)\b[^.]{0,30}[:：]\s*$"
    r"|^\W*(?:author|autor|auteur|subject|betreff|opened by)\s*[:：]|\bopened by \S+[:：]\s*$"
    r"|(?:来自|发来|寫|写道|说)[^。]{0,30}[:：]\s*$|(?:から(?:の)?(?:メール|メッセージ)?|より)\s*[:：]\s*$|(?:的邮件"
    r"|的消息)\s*[:：]\s*$"
)
_FIRST_PERSON = re2.compile(r"(?i)^\W*(?:(?:as|like|and|but|wie)\s+)?(?:i|we|ich|wir|yo|nosotros|j['’]|je|nous|eu|nós)\b|^\W*我|私")
_REPORTED = re2.compile(
    r"(?i)^[\s\"'”’,.]*(?:(?:so|that['’]s what|is what|or so|at least)\s+)?(?:(?:the |our |my |his |her )?[\w-]+\s+)?"
    r"(?:said|says|claims?|claimed|told (?:me|us)|thinks|according to|sagte?|meinte?|behauptet\w*|laut|dijo|dice|según"
    r"|a dit|dit|selon|disse|diz|segundo)\b"
    r"|^\W*(?:据|他说|她说|と言|って言)"
)
_WITHDRAWN = re2.compile(
    r"(?i)\b(?:scrap|forget|ignore|disregard|strike|undo|cancel) (?:that|it|this)\b|\bnever ?mind\b|\bkidding\b"
    r"|\bno,? wait\b|\bwait,? no\b|\bactually,? no\b"
    r"|\bon second thoughts?\b|\btake (?:that|it) back\b|\blol,? no\b|\b(?:i|we) (?:don['’]t|do not) want (?:that"
    r"|this)\b|\bbad idea\b|\bjust a joke\b"
    r"|\b(?:is|are|was|were|that['’]s|he['’]s|she['’]s|they['’]re) (?:all |just |simply |completely )?(?:wrong|false"
    r"|not true|untrue|nonsense|mistaken|a lie)\b"
    r"|\bisn['’]t (?:true|right)\b|\bvergiss (?:das|es)\b|\bdoch nicht\b|\bquatsch\b|\bstreich das\b|\bwar ein scherz\b"
    r"|\bnein,? warte\b|\bstimmt nicht\b"
    r"|\b(?:ist|liegt) falsch\b|\bolvídalo\b|\bolvida eso\b|\bmejor no\b|\bno,? espera\b|\bera broma\b|\bes falso\b"
    r"|\bno es (?:verdad|cierto)\b"
    r"|\bse equivoca\b|\boublie (?:ça|cela)|\bnon,? attends\b|\bje plaisante\b|\bfinalement non|\bc['’]est faux\b"
    r"|\bse trompe\b|\besque[cç]e (?:isso|isto)\b"
    r"|\bn(?:ã|a)o,? espera\b|\bmelhor não|\bbrincadeira\b|\bé falso\b|\bestá errad[oa]\b|算了|不对|开玩笑|等等|是错的"
    r"|やっぱり|やめて|冗談|忘れて|間違って|嘘"
)
_TRAILS = re2.compile(r"^\s*(?:\.{2,}|…)\s*\w")  # an ellipsis behind which a thought of its own begins
_QUESTION = ("?", "？")
_CLOSING = " \t\r\n\"'`”’)*_"
_COLONS = (":", "：")


def unasserted(text: str, start: int, end: int) -> str:
    """Why the characters ``[start, end)`` of a prompt are not what its author asserts; empty where nothing says so."""
    whole = tuple(span for span in sentences(text, 0, len(text)) if not span.aside and span.start < end and span.end > start)
    first, last = (whole[0].start, whole[-1].end) if whole else (start, end)
    if whole and _TRAILS.search(text[end:last]):
        whole, last = (*whole[:-1], replace(whole[-1], end=end)), end
    before, words, after = text[min(first, start) : start], text[start:end], text[end : max(last, end)]
    checks = (
        (any(_is_question(text[span.start : span.end]) for span in whole), ASKED),
        (_AFTER.search(after) or _BEFORE.search(before) or _WITHIN.search(before + words), SUPPOSED),
        (any(_ONCE.search(text[span.start : span.end]) for span in whole), ONCE),
        (_is_content(text, start, whole), CONTENT),
        (_REPORTED.search(after) or any(map(_is_authors, text[:start].splitlines())), ANOTHERS),
        (_WITHDRAWN.search(text[end:]), WITHDRAWN),
    )
    return next((reason for sign, reason in checks if sign), "")


def _is_question(sentence: str) -> bool:
    """Whether a sentence asks for an answer; a request in the form of a question does not."""
    asks = sentence.rstrip(_CLOSING).endswith(_QUESTION) or _ASKS.search(sentence) is not None
    return asks and _REQUEST.search(sentence) is None


def _is_content(text: str, start: int, whole: tuple[Span, ...]) -> bool:
    """Whether the words that lead to a passage by a colon order to write it somewhere."""
    lead = text[:start].rstrip(_CLOSING + "“„«「")
    if not lead.endswith(_COLONS):
        inside = text[whole[0].start : start] if whole else ""
        lead = inside[: max(inside.rfind(colon) for colon in _COLONS) + 1]
    line = lead.rsplit("\n", 1)[-1]
    return bool(line) and _CONTENT.search(line) is not None and _OWN.search(line) is None


def _is_authors(line: str) -> bool:
    """Whether a line names another author of what stands below it."""
    return _AUTHOR.search(line) is not None and _FIRST_PERSON.search(line) is None


__all__ = ["unasserted"]
