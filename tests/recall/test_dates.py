"""The time a question speaks of."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from cases import each_case
from kept.core.dates import is_month_first_locale, parse_day_range, parse_time_span

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 11, 22, 30, tzinfo=UTC)  # a Wednesday, 23:30 in Berlin


def days(question):
    found = parse_time_span(question, NOW, ZONE)
    if found is None:
        return None
    edges = [each.astimezone(ZONE).strftime("%Y-%m-%d") if each else "" for each in (found.since, found.until)]
    return tuple(edges)


@each_case(
    ("question", "since", "until"),
    [
        ("what did we decide yesterday?", "2026-03-10", "2026-03-11"),
        ("what happened today", "2026-03-11", "2026-03-12"),
        ("What did we do last Tuesday?", "2026-03-10", "2026-03-11"),
        ("the script that failed last Wednesday", "2026-03-04", "2026-03-05"),
        ("this Wednesday", "2026-03-11", "2026-03-12"),
        ("on Friday we broke it", "2026-03-06", "2026-03-07"),
        ("last week's plan", "2026-03-02", "2026-03-09"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("the last 3 days", "2026-03-08", "2026-03-12"),
        ("two weeks ago the build broke", "2026-02-22", "2026-03-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in December we moved", "2025-12-01", "2026-01-01"),
        ("in May 2024", "2024-05-01", "2024-06-01"),
        ("mid-January trip", "2026-01-10", "2026-01-21"),
        ("at the end of February", "2026-02-20", "2026-03-01"),
        ("on March 5", "2026-03-05", "2026-03-06"),
        ("on 5th March 2025, what", "2025-03-05", "2025-03-06"),
        ("2025-11-30 notes", "2025-11-30", "2025-12-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("since last Monday", "2026-03-09", ""),
        ("after February", "2026-03-01", ""),
        ("before March 5", "", "2026-03-05"),
        ("until yesterday", "", "2026-03-11"),
        ("what broke on 10.01.2024?", "2024-01-10", "2024-01-11"),
        ("the call of 03.11.24", "2024-11-03", "2024-11-04"),
        ("2024/01/10 notes", "2024-01-10", "2024-01-11"),
        ("the bill of 01/2024", "2024-01-01", "2024-02-01"),
        ("5 Jan 2024", "2024-01-05", "2024-01-06"),
        ("on Jan 5, 2024 we met", "2024-01-05", "2024-01-06"),
        ("the 17th of January 2024", "2024-01-17", "2024-01-18"),
        ("the 17th of January, 2024", "2024-01-17", "2024-01-18"),
        ("in the first week of March", "2026-03-01", "2026-03-08"),
        ("last week of February 2024", "2024-02-23", "2024-03-01"),
        ("last spring", "2025-03-01", "2025-06-01"),
        ("in summer 2024", "2024-06-01", "2024-09-01"),
        ("over the weekend", "2026-03-07", "2026-03-09"),
        ("last weekend we moved", "2026-03-07", "2026-03-09"),
        ("Q1", "2026-01-01", "2026-04-01"),
        ("what came of Q4?", "2025-10-01", "2026-01-01"),
        ("Q3 2024", "2024-07-01", "2024-10-01"),
        ("the second quarter of 2024", "2024-04-01", "2024-07-01"),
        ("last quarter", "2025-10-01", "2026-01-01"),
        ("was haben wir gestern entschieden?", "2026-03-10", "2026-03-11"),
        ("letzte Woche", "2026-03-02", "2026-03-09"),
        ("vor drei Tagen ging es noch", "2026-03-08", "2026-03-09"),
        ("am 5. Januar 2024", "2024-01-05", "2024-01-06"),
        ("im Mai 2024", "2024-05-01", "2024-06-01"),
        ("am Wochenende", "2026-03-07", "2026-03-09"),
        ("seit Februar", "2026-02-01", ""),
        ("la semaine dernière", "2026-03-02", "2026-03-09"),
        ("il y a deux semaines", "2026-02-22", "2026-03-01"),
        ("le 14 juillet 2025", "2025-07-14", "2025-07-15"),
        ("el lunes pasado", "2026-03-09", "2026-03-10"),
        ("el 3 de febrero de 2025", "2025-02-03", "2025-02-04"),
        ("hace 3 días", "2026-03-08", "2026-03-09"),
        ("a semana passada", "2026-03-02", "2026-03-09"),
        ("tre giorni fa", "2026-03-08", "2026-03-09"),
        ("на прошлой неделе", "2026-03-02", "2026-03-09"),
        ("что было вчера?", "2026-03-10", "2026-03-11"),
        ("5 января 2024 года", "2024-01-05", "2024-01-06"),
        ("上周我们决定了什么？", "2026-03-02", "2026-03-09"),
        ("2024年1月10日的会议", "2024-01-10", "2024-01-11"),
        ("三天前", "2026-03-08", "2026-03-09"),
        ("昨日の作業", "2026-03-10", "2026-03-11"),
        ("march of 2024", "2024-03-01", "2024-04-01"),
        ("may of 2024: which release?", "2024-05-01", "2024-06-01"),
        ("先月", "2026-02-01", "2026-03-01"),
        ("0月, 先月", "2026-02-01", "2026-03-01"),
        ("3月5日に", "2026-03-05", "2026-03-06"),
        ("지난주 회의", "2026-03-02", "2026-03-09"),
    ],
)
def test_a_span_is_understood_relative_to_now_in_the_persons_zone(question, since, until):
    assert days(question) == (since, until)


@each_case(
    "question",
    [
        "",
        "may I march on?",
        "python 3.11.7 and 2.0.14 fail on 10.0.0.1",
        "spring boot and the fall through",
        "why does it fail in spring boot",
        "in spring security",
        "the last may fail",
        "this may be slow",
        "3/4 of the tests, 99.99.2024",
        "Wo ist der Bug vor dem Release?",
        "我们用什么数据库？",
        "the last mile",
        "this day-old build",
        "port 2024 is taken",
        "0月",
        "0月5日の作業",
        "upgrade to 2024.1.20241231235959",
        "valid until 9999-12-31",
        "since 0001-01-01",
        "version 3.11",
        "recent changes",
        "in",
    ],
)
def test_what_only_looks_like_a_time_is_none(question):
    assert days(question) is None


@each_case(
    ("text", "first", "last"),
    [
        ("2026-01-05", "2026-01-05", "2026-01-05"),
        ("yesterday", "2026-03-09", "2026-03-09"),
        ("3 days ago", "2026-03-07", "2026-03-07"),
        ("last week", "2026-03-02", "2026-03-08"),
        ("2027-06-30", "2027-06-30", "2027-06-30"),
    ],
)
def test_a_date_on_the_command_line_is_written_as_people_say_it(text, first, last):
    assert [each.isoformat() for each in parse_day_range(text, date(2026, 3, 10))] == [first, last]


@each_case("text", ["soon", "", "before monday", "monday and tuesday", "2026-02-30"])
def test_what_is_more_or_less_than_a_date_is_none(text):
    assert parse_day_range(text, date(2026, 3, 10)) is None


def test_the_rest_of_the_question_stays():
    assert parse_time_span("what did we decide last Tuesday about Parquet", NOW, ZONE).rest == "what did we decide about Parquet"


def test_a_long_or_strange_text_is_read_without_harm():
    for text in ("last " * 100_000, "-" * 5000, "mid-", "the end of", "0 days ago", "99999 weeks ago", "\x00 last \ud800 tuesday"):
        parse_time_span(text, NOW, ZONE)


def test_the_locale_decides_which_of_two_numbers_is_the_month_where_both_may_be():
    def first_day(question, locale):
        return (
            parse_time_span(question, NOW, ZONE, month_first=is_month_first_locale({"LANG": locale}))
            .since.astimezone(ZONE)
            .date()
            .isoformat()
        )

    assert first_day("10/01/2024", "de_DE.UTF-8") == "2024-01-10"
    assert first_day("10/01/2024", "en_US.UTF-8") == "2024-10-01"
    assert first_day("10/25/2024", "de_DE.UTF-8") == first_day("25/10/2024", "en_US.UTF-8") == "2024-10-25"


@each_case(
    "question",
    [
        "Wie heißt hier die Datenbank?",
        "what changed since the last tag",
        "what did we say about the last tag?",
        "how do we configure logging in Spring Boot?",
        "which of the 2 may be used",
        "why can step 3 may fail",
        "we use Node 20.11.10 here",
        "mid March 5",
        "fourth week of 5 March",
    ],
)
def test_an_everyday_word_or_a_part_of_a_day_is_no_time(question):
    found = parse_time_span(question, NOW, ZONE)
    assert found is None or (found.since < found.until and found.label in ("march 5", "5 march", "of 5 march"))


@each_case(
    ("question", "since"),
    [
        ("qu'avons-nous décidé hier pour la base", "2026-03-10"),
        ("am letzten Tag", "2026-03-10"),
        ("in Spring 2024", "2024-03-01"),
        ("on 2 may we moved", "2025-05-02"),
        ("what came last may", "2025-05-01"),
    ],
)
def test_the_same_words_are_a_time_beside_words_of_their_language_or_of_a_date(question, since):
    assert days(question)[0] == since
