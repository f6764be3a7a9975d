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
    ("de", "convention", "Alle Commit-Nachrichten sind bei uns auf Englisch."),
    ("de", "preference", "Frag mich, bevor du etwas löschst."),
    ("es", "constraint", "Nunca edites los archivos de `gen/` a mano."),
    ("es", "preference", "No hagas push a main sin preguntarme antes."),
    ("es", "project_fact", "El servidor de staging está en db2.internal, no en db1."),
    ("es", "preference", "Responde siempre en español y de forma breve."),
    ("fr", "constraint", "Ne modifie jamais les fichiers de `gen/` à la main."),
    ("fr", "decision", "On a décidé d'utiliser Postgres parce qu'il nous faut du JSON."),
    ("fr", "convention", "Dans ce dépôt tous les messages de commit sont en anglais."),
    ("fr", "project_fact", "Le serveur de staging est sur db2.internal, pas sur db1."),
    ("pt", "constraint", "Nunca edite os arquivos de `gen/` à mão."),
    ("pt", "preference", "Não faça push para main sem me perguntar antes."),
    ("pt", "project_fact", "O servidor de staging fica em db2.internal, não em db1."),
    ("zh", "constraint", "不要直接修改 `gen/` 目录里的文件，它们是自动生成的。"),
    ("zh", "project_fact", "测试服务器是 db2.internal，不是 db1。"),
    ("ja", "constraint", "`gen/` のファイルは絶対に手で編集しないでください。"),
]


@pytest.mark.parametrize(("language", "category", "words"), SAID)
def test_what_is_said_in_a_language_of_the_profile_is_learnt_in_that_language(language, category, words):
    spoken = lexicon((language,))
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
    spoken = lexicon((language,))
    assert [each for each in found(user(words), lexicon=spoken) if isinstance(judge(each, PROFILE, lexicon=spoken), Accepted)] == []
