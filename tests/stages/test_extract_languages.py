"""What is announced, ruled and preferred in other languages than English."""

import pytest
from talk import PROFILE, found, user

from kept.model.memory import Accepted
from kept.profiles.lexicons import lexicon
from kept.stages.gate import judge

SAID = [
    ("de", "decision", "wir haben uns entschieden, immer pnpm zu benutzen"),
    ("de", "decision", "Wir haben beschlossen, Postgres statt MySQL zu verwenden, weil wir JSON brauchen"),
    ("de", "constraint", "Committe nie direkt auf main"),
    ("de", "preference", "Ich möchte, dass du vor jeder Änderung fragst"),
    ("de", "project_fact", "Der Staging-Server ist db2.internal, nicht db1"),
    ("es", "decision", "Decidimos usar Postgres en lugar de MySQL porque necesitamos JSON"),
    ("es", "preference", "Prefiero commits pequeños"),
    ("fr", "decision", "Non, utilise bun au lieu de npm"),
    ("fr", "preference", "Demande-moi avant de changer quoi que ce soit"),
    ("pt", "decision", "Não, use bun em vez de npm"),
    ("pt", "preference", "Prefiro commits pequenos"),
    ("zh", "decision", "我们决定用 Postgres 而不是 MySQL,因为需要 JSON"),
    ("zh", "preference", "修改之前先问我"),
    ("ja", "decision", "JSON が必要なので MySQL ではなく Postgres を使うことにしました"),
    ("ja", "preference", "変更する前に必ず聞いてください"),
]


@pytest.mark.parametrize(("language", "category", "words"), SAID)
def test_what_is_said_in_a_language_of_the_profile_is_learnt_in_that_language(language, category, words):
    spoken = lexicon(("en", language))
    made = [each for each in found(user(words), lexicon=spoken) if isinstance(judge(each, PROFILE, lexicon=spoken), Accepted)]
    assert [each.category for each in made] == [category], made
    assert words[-6:].rstrip("。") in made[0].content


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "führe die Tests aus"),
        ("de", "warum schlägt der Build fehl?"),
        ("es", "ejecuta las pruebas"),
        ("fr", "lance les tests"),
        ("pt", "rode os testes"),
        ("zh", "运行测试"),
        ("ja", "テストを実行して"),
    ],
)
def test_a_step_or_a_question_teaches_nothing_in_any_language(language, words):
    spoken = lexicon(("en", language))
    assert [each for each in found(user(words), lexicon=spoken) if isinstance(judge(each, PROFILE, lexicon=spoken), Accepted)] == []
