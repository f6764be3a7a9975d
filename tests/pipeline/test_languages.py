"""A conversation is read by the words of the languages it is in."""

import pytest

from cases import each_case
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, run_pipeline
from kept.profiles.language import choose_lexicon
from kept.profiles.lexicons import LANGUAGES, detect_languages
from kept.workspace import open_workspace
from talk import agent, output, talk, user
from talking import say

SAID = {
    "en": "We never deploy on a Friday, because nobody is there to roll it back.",
    "de": "Wir deployen nie an einem Freitag, weil dann niemand da ist, der es zurückrollt.",
    "es": "Nunca desplegamos los viernes, porque no hay nadie para revertirlo.",
    "fr": "On ne déploie jamais le vendredi, parce que personne n'est là pour revenir en arrière.",
    "pt": "Nunca fazemos deploy na sexta-feira, porque não há ninguém para reverter.",
    "zh": "我们从不在星期五部署，因为没有人可以回滚。",
    "it": "Non rilasciamo mai di venerdì, perché non c'è nessuno che possa tornare indietro.",
    "ru": "Мы никогда не выкладываем по пятницам, потому что откатить некому.",
    "ja": "金曜日にはデプロイしません。戻せる人がいないからです。",
}


@each_case("language", LANGUAGES)
def test_each_language_is_known_by_one_plain_sentence(language):
    assert detect_languages(SAID[language], LANGUAGES)[0] == language


def test_where_nothing_tells_the_first_language_of_the_profile_is_read():
    assert choose_lexicon(talk(user("`make -j8 all`")), ("de", "en")).languages == ("de",)
    assert choose_lexicon((), LANGUAGES).languages == ("en",)


def test_only_the_words_of_the_person_tell_and_neither_the_assistants_nor_what_was_pasted():
    events = talk(
        user(
            f"{SAID['de']}\n```\n// this is the code that we have in the repo and it is not for you\n```\nerror: the file is "
            "not there"
        ),
        agent(SAID["en"]),
        output(SAID["en"]),
    )
    assert choose_lexicon(events, LANGUAGES).languages == ("de",)


def test_who_mixes_two_languages_is_read_by_both():
    assert set(choose_lexicon(talk(user(SAID["fr"]), agent("Noted."), user(SAID["en"])), LANGUAGES).languages) == {"en", "fr"}


def test_a_language_that_the_profile_leaves_out_is_not_read():
    assert choose_lexicon(talk(user(SAID["fr"])), ("en", "de")).languages == ("en",)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("In diesem Projekt verwenden wir immer pnpm statt npm, weil das Lockfile dann klein bleibt.", "pnpm statt npm"),
        ("En este proyecto siempre usamos pnpm en lugar de npm, porque el lockfile queda pequeño.", "pnpm en lugar de npm"),
        ("Dans ce projet on utilise toujours pnpm au lieu de npm, parce que le lockfile reste petit.", "pnpm au lieu de npm"),
        ("Neste projeto sempre usamos pnpm em vez de npm, porque o lockfile fica pequeno.", "pnpm em vez de npm"),
        ("在这个项目里我们总是使用 pnpm 而不是 npm，因为 lockfile 更小。", "pnpm"),
        ("このプロジェクトでは npm ではなく必ず pnpm を使います。lockfile が小さくなるからです。", "pnpm"),
    ],
)
def test_a_rule_told_in_any_language_is_active(home, words, part):
    say(home, "s1", words)
    with open_workspace(find_paths(str(home), {})) as workspace:
        run_pipeline(workspace, [], RunOptions())
        contents = [each.content for each in workspace.store.log.memories() if each.status.value == "active"]
    assert any(part in each for each in contents), contents
