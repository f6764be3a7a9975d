"""Loose triggers: which typed prompts may hold something that later sessions need."""

from cases import each_case
from kept.intake.triggers import has_trigger


@each_case(
    "prompt",
    [
        "no, don't use axios for this, use fetch",
        "We decided to go with Postgres for the queue.",
        "from now on the commit messages are in English",
        "please keep in mind that staging has no GPU",
        "it broke because the cache is shared between tenants",
        "I'd rather have one table for everything",
        "Bitte nie direkt auf main pushen, immer per PR.",
        "Wir nutzen pnpm und nicht npm in diesem Projekt",
        "Il faut toujours passer par le proxy en interne",
        "on utilise uv au lieu de pip dans ce dépôt",
        "Nunca borres la carpeta de migraciones del servidor",
        "siempre usamos comillas simples en este proyecto",
        "Nunca altere a pasta de migrações do servidor",
        "以后提交信息都用中文写",
        "不要直接推送到主分支",
        "コミットメッセージは必ず日本語で書いてください",
    ],
)
def test_what_may_be_a_rule_a_decision_a_correction_or_a_cause_fires_in_every_language(prompt):
    assert has_trigger(prompt)


@each_case(
    "prompt",
    [
        "",
        "yes",
        "never mind",
        "please run the tests of the parser",
        "can you show me the diff of the last commit?",
        "> you must always quote this\nwhat does this line mean here?",
        "what does this do?\n```\nif never: must(always)\n```",
        "zeig mir bitte den letzten Commit im Log",
        "请显示最近一次提交的内容",
    ],
)
def test_a_plain_request_a_quoted_rule_and_a_few_words_do_not_fire(prompt):
    assert not has_trigger(prompt)


def test_one_denial_alone_is_a_report_and_two_weak_words_may_be_a_rule():
    assert not has_trigger("the button of the form is not blue")
    assert has_trigger("the button is not red, only the border")


def test_a_rule_at_the_end_of_a_long_prompt_fires():
    assert has_trigger("word " * 5_000 + "never touch the lock file by hand")
