"""What a claim may not turn around."""

from cases import each_case
from kept.extraction.questions.support import find_distortion

TURNED = [
    ("never squash, only merge", "we only squash"),
    ("Squash commits when merging.", "we only squash commits"),
    ("Never squash when merging.", "we only squash when merging"),
    ("Merge commits.", "never merge commits"),
    ("Use axios for requests.", "Don't use axios, use fetch"),
    ("Use axios instead of fetch.", "Use fetch instead of axios"),
    ("Deploy on Fridays.", "We do not deploy on Fridays"),
    ("We use Jenkins.", "we no longer use Jenkins"),
    ("Tests run against the staging database.", "only run tests against the staging database, never production"),
    ("Never commit generated files.", "commit generated files"),
    ("Always ask before a push.", "sometimes ask before a push, as you like"),
    ("Verwende axios.", "Verwende kein axios"),
    ("Verwende Tabs.", "Tabs verwenden wir nicht"),
    ("Nutze nur Postgres.", "Nutze Postgres"),
    ("Usa tabuladores.", "nunca uses tabuladores"),
    ("Utilise jQuery.", "n'utilise jamais jQuery"),
    ("Use jQuery na página.", "não use jQuery na página"),
    ("使用 jQuery 写前端。", "不要 使用 jQuery 写前端"),
    ("jQuery を使う。", "jQuery は使わない"),
    ("Use axios.", "不要用 axios"),
    ("The timeout is 5 seconds, retries 30.", "set the timeout to 30 seconds, retries 5"),
    ("The timeout is 60 seconds.", "the timeout is 30 seconds"),
    ("Use Node 18 in CI.", "use Node 20 in CI"),
    ("Retry three times.", "retry 5 times"),
    ("It's fusty everywhere, it's a motif.", "Then it's musty everywhere, it's a motif."),
    ("LoRa costa 4 euro al mese a scheda.", "ci devo pensare, il gsm costa 4 euro al mese a scheda"),
    ("Zdjęcia zawsze kwadratowe, tło szare.", "zdjęcia zawsze kwadratowe, tło białe"),
    ("The style holds for everything I do.", "The style holds for everything I do for them."),
]
KEPT = [
    ("Never use axios; use fetch.", "Don't use axios, use fetch instead"),
    ("Use fetch instead of axios.", "Don't use axios, use fetch instead."),
    ("Use fetch for requests.", "Don't use axios, use fetch for requests."),
    ("Commits are only squashed.", "we only squash commits"),
    (
        "Dates are always written as ISO 8601 in UTC, never in local time.",
        "we always write dates as ISO 8601 in UTC, never in local time",
    ),
    ("Always use tabs.", "use tabs please"),
    ("Use tabs, never spaces.", "use tabs, not spaces"),
    ("Tabs rather than spaces.", "tabs instead of spaces"),
    ("Do not deploy on Fridays.", "never deploy on fridays!"),
    ("Jenkins is no longer used.", "we don't use Jenkins anymore"),
    ("Retries: 5, timeout: 30 seconds.", "set the timeout to 30 seconds and retries to 5"),
    ("Retry 3 times.", "retry three times"),
    ("Verwende niemals axios.", "Verwende kein axios"),
    ("Nunca uses tabuladores.", "no uses tabuladores"),
    ("Run the linter before a push.", "don't forget to run the linter before a push"),
    ("Photos are always square, background white.", "photo always square, background white"),
    ("The style holds for everything I do for Farrow.", "That's the style, holds for everything I do for Farrow."),
    ("Use Node 20.11 in CI.", "use Node 20.11 in CI"),
]


@each_case(("claim", "cited"), TURNED)
def test_a_claim_that_turns_around_what_it_cites_is_told(claim: str, cited: str) -> None:
    assert find_distortion(claim, [cited])


@each_case(("claim", "cited"), KEPT)
def test_the_same_in_other_words_is_none(claim: str, cited: str) -> None:
    assert find_distortion(claim, [cited]) == ""


@each_case(("claim", "cited"), KEPT)
def test_nothing_turns_its_own_words_around(claim: str, cited: str) -> None:
    assert find_distortion(claim, [claim]) == find_distortion(cited, [cited]) == ""
