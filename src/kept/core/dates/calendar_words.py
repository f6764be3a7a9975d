"""Words of time in other languages, as the English ones that :mod:`kept.core.dates.when` reads; and what languages without
spaces write.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kept.core.pattern import compile_late

_ENGLISH = {
    "monday": "montag lundi lunes segunda-feira lunedì понедельник понедельника",
    "tuesday": "dienstag mardi martes terça-feira martedì вторник вторника",
    "wednesday": "mittwoch mercredi miércoles quarta-feira mercoledì среду среда",
    "thursday": "donnerstag jeudi jueves quinta-feira giovedì четверг четверга",
    "friday": "freitag vendredi viernes sexta-feira venerdì пятницу пятница",
    "saturday": "samstag sonnabend samedi sábado sabato субботу суббота",
    "sunday": "sonntag dimanche domingo domenica воскресенье",
    "january": "januar jänner janvier enero janeiro gennaio январь январе января",
    "february": "februar février febrero fevereiro febbraio февраль феврале февраля",
    "march": "märz mars marzo março март марте марта",
    "april": "avril abril aprile апрель апреле апреля",
    "may": "mai mayo maio maggio май мае мая",
    "june": "juni juin junio junho giugno июнь июне июня",
    "july": "juli juillet julio julho luglio июль июле июля",
    "august": "août agosto август августе августа",
    "september": "septembre septiembre setembro settembre сентябрь сентябре сентября",
    "october": "oktober octobre octubre outubro ottobre октябрь октябре октября",
    "november": "novembre noviembre novembro ноябрь ноябре ноября",
    "december": "dezember décembre diciembre dezembro dicembre декабрь декабре декабря",
    "today": "heute aujourd'hui hoy hoje oggi сегодня",
    "yesterday": "gestern hier ayer ontem ieri вчера",
    "last": """letzte letzten letzter letztes letztem vorige vorigen vergangene vergangenen dernier dernière
        derniers dernières passé passée pasado pasada pasados pasadas últimos últimas passado passada scorso scorsa scorsi
        ultimi ultime прошлой прошлом прошлую прошлый последние""",
    "this": "diese diesen dieser dieses diesem cette esta questa questo этой этом эту",
    "day": "tag tage tagen jour jours día días dia dias giorno giorni день дня дней",
    "week": "woche wochen semaine semaines semana semanas settimana settimane неделю неделе недели недель",
    "month": "monat monate monaten mois mes meses mês mese mesi месяц месяце месяца месяцев",
    "year": "jahr jahre jahren jahres année années año años ano anos anno anni год году года лет",
    "weekend": "wochenende week-end finde выходные выходных",
    "quarter": "quartal trimestre квартал квартале",
    "spring": "frühling frühjahr printemps primavera весной",
    "summer": "sommer été verano verão estate летом",
    "autumn": "herbst automne otoño outono autunno осенью",
    "winter": "hiver invierno inverno зимой",
    "two": "zwei deux dos dois duas due два две",
    "three": "drei trois tres três tre три",
    "four": "vier quatre cuatro quatro quattro четыре",
    "five": "fünf cinq cinco cinque пять",
    "one": "eine einen einem einer uno um uma одну один",
    "ago": "fa назад atrás",
    "in": "im en em nel nella в во dans",
    "on": "am au alla",
    "of": "des de del do di",
    "since": "seit depuis desde dal с",
    "until": "bis jusqu'à hasta até fino до",
    "after": "nach après después depois dopo после",
    "before": "avant antes prima перед",
}
WORDS: Mapping[str, str] = {word: english for english, others in _ENGLISH.items() for word in others.split()}
# Words that are others in another language (a git tag, German "hier"), with words of their own language: "tag" is a day behind one
# of them, "hier" is yesterday where one stands anywhere.
_BESIDE = {
    "tag": "am den dem der letzten letzter letztem diesem diesen dieser vorigen vergangenen einem einen jeden",
    "hier": "le la les nous on avons que qui est et avec pour j'ai dans du a",
}
HOMONYMS: Mapping[str, frozenset[str]] = {word: frozenset(others.split()) for word, others in _BESIDE.items()}
AGO = frozenset({"vor", "hace", "há"})  # before the number, where English has "ago" after the unit

_DENSE = {
    "day 0": "今天 今日 오늘",
    "day 1": "昨天 昨日 어제",
    "day 2": "前天 一昨日 그저께",
    "week 0": "本周 这周 這週 今週 이번주",
    "week 1": "上周 上週 上星期 上个星期 上個星期 先週 지난주",
    "month 0": "这个月 這個月 本月 今月 이번달",
    "month 1": "上个月 上個月 上月 先月 지난달",
    "year 0": "今年 올해",
    "year 1": "去年 昨年 작년 지난해",
    "weekend 0": "周末 週末 주말",
}
_SPANS = sorted(
    ((word, name) for name, words in _DENSE.items() for word in words.split()), key=lambda each: (-len(each[0]), each[0])
)
_UNITS = {
    sign: unit for signs, unit in (("天日일", "day"), ("周週주", "week"), ("月월", "month"), ("年년", "year")) for sign in signs
}
_DIGITS = {
    digit: str(number)
    for number, digits in enumerate(("〇", "一", "二两兩", "三", "四", "五", "六", "七", "八", "九"))
    for digit in digits
}


class CjkTime(NamedTuple):
    """A time in a text without spaces: where it stands, the name and number of a span (``week 1`` is the last one; ``ago day 3``
    lies three days back), or a date, whose year, month and day are 0 where it has none.
    """

    start: int
    end: int
    span: str
    date: tuple[int, int, int] = (0, 0, 0)


_DENSE_DATE = compile_late(r"(?:(20\d\d)\s*[年년]\s*)?(\d{1,2})\s*[月월](?:\s*(\d{1,2})\s*[日号號일])?(?!\s*[前전])")
_DENSE_YEAR = compile_late(r"(20\d\d)\s*[年년]")
_DENSE_AGO = compile_late(
    r"(\d{1,3}|[一二两兩三四五六七八九])\s*[个個ヶか개]?\s*([天日일周週주月월年년])[間间]?\s*(?:前|之前|以前|전)"
)


def find_cjk_times(text: str) -> Iterator[CjkTime]:
    """What a text in Chinese, Japanese or Korean names, dates first."""
    if text.isascii():
        return
    for search_match in _DENSE_DATE.finditer(text):
        year, month, day = (int(part or 0) for part in search_match.groups())
        if month:
            yield CjkTime(search_match.start(), search_match.end(), "", (year, month, day))
    for search_match in _DENSE_YEAR.finditer(text):
        yield CjkTime(search_match.start(), search_match.end(), "", (int(search_match[1]), 0, 0))
    for search_match in _DENSE_AGO.finditer(text):
        yield CjkTime(
            search_match.start(),
            search_match.end(),
            f"ago {_UNITS[search_match[2]]} {_DIGITS.get(search_match[1], search_match[1])}",
        )
    for word, name in _SPANS:
        at = text.find(word)
        if at >= 0:
            yield CjkTime(at, at + len(word), name)
