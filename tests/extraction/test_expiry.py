"""When what was said ends by its own words."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cases import each_case
from kept.extraction.expiry import find_end

ZONE = ZoneInfo("Europe/Berlin")
SAID = datetime(2026, 2, 11, 22, 30, tzinfo=UTC)  # a Wednesday, 23:30 in Berlin


@each_case(
    ("text", "last"),
    [
        ("The discount code is valid until 2027-03-01.", "2027-03-01"),
        ("Deploys are frozen until Friday.", "2026-02-13"),
        ("Use the staging database for the next two weeks.", "2026-02-25"),
        ("For the next 10 days answer in German.", "2026-02-21"),
        ("Ana is away until March 5.", "2026-03-05"),
        ("Ana is away until 5th January, 2027", "2027-01-05"),
        ("Keep the old api until the end of the month.", "2026-02-28"),
        ("Keep the old api till the end of this week.", "2026-02-15"),
        ("Bis Freitag wird nichts ausgeliefert.", "2026-02-13"),
        ("Gültig bis 2026-04-01.", "2026-04-01"),
        ("BIS FREITAG WIRD NICHTS AUSGELIEFERT.", "2026-02-13"),
        ("Hasta el viernes no se despliega.", "2026-02-13"),
        ("Le code est valable jusqu'au 2026-05-01.", "2026-05-01"),
    ],
)
def test_an_end_in_plain_words_is_that_day_in_the_persons_zone(text, last):
    end = find_end(text, SAID, ZONE)
    assert end is not None
    assert (end.astimezone(ZONE).strftime("%Y-%m-%d"), end.astimezone(ZONE).hour) == (_after(last), 0)


@each_case(
    "text",
    [
        "The office is open from Monday until Friday.",
        "Reports are due every week until Friday.",
        "Do not merge until the tests pass.",
        "The old api worked until 2024-01-01.",
        "Wait until the next release.",
        "The page shows the end of the month.",
        "The launch is on Friday.",
        "The plan for the next version is in `plan.md`.",
        "Valid until 2027-13-40.",
        "The freeze holds until FRİDAY.",
        "The freeze holds until frıday.",
        "The freeze holds until 5 aprıl.",
        "The freeze holds for the next sıx days.",
        "Remember that the licence is valid until 9999-12-31.",
        "Valid until December 31, 9999.",
    ],
)
def test_what_repeats_is_past_or_names_no_day_ends_nothing(text):
    assert find_end(text, SAID, ZONE) is None


def test_without_a_time_nothing_ends():
    assert find_end("Deploys are frozen until Friday.", None, ZONE) is None


def _after(day: str) -> str:
    return datetime.fromordinal(datetime.fromisoformat(day).toordinal() + 1).strftime("%Y-%m-%d")
