"""Each intent, from a conversation as people have them to the memory it leaves, through the whole main job without a model."""

import pytest
from talking import converse

from kept.app.running import Options, run
from kept.model.memory import Status

# What was said, and the one memory it must leave: its category, parts of its sentence, and whose words it rests on.
CODING = {
    "a correction of what the assistant assumed": (
        [
            ("user", "please write the tool that lists old sessions"),
            (
                "agent",
                "Done. I assumed the session files are named by date, like `2026-03-01-3f2a.jsonl`, and sort by that prefix.",
            ),
            ("user", "hmm, I just checked, none of the files in sessions/ has a date in front, they are only called <uuid>.jsonl"),
            ("agent", "You're right, I'll sort by modification time instead."),
        ],
        ("project_fact", ("None of the files in sessions/ has a date in front", "<uuid>.jsonl")),
    ),
    "a correction by a practice": (
        [
            ("user", "prepare the release"),
            ("agent", "I bumped the minor version to 0.9.0 in `package.json`, since there is a new command."),
            ("user", "we are prerelease, we only do patch"),
            ("agent", "Understood, I set it to 0.8.4."),
        ],
        ("convention", ("prerelease", "only do patch")),
    ),
    "a decision with its reason and what it was taken over": (
        [
            ("user", "sqlite or duckdb for the reporting job, what do you think?"),
            ("agent", "Both work. SQLite is simpler, DuckDB reads Parquet directly."),
            (
                "user",
                "after looking at both I'd go with duckdb rather than sqlite for the reporting job, the office opens the parquet files in it anyway",
            ),
            ("agent", "Good, DuckDB it is."),
        ],
        ("decision", ("duckdb rather than sqlite", "the office opens the parquet files")),
    ),
    "a yes to what the assistant recommended": (
        [
            ("user", "how should we store the amounts?"),
            (
                "agent",
                "Floats will round. I recommend storing money as integer cents in `orders.total_cents` instead of floats.\n\nShall I do it that way?",
            ),
            ("user", "yes please"),
            ("agent", "Done."),
        ],
        ("decision", ("We settled on storing money as integer cents in `orders.total_cents` instead of floats.",)),
    ),
    "an option named by its letter": (
        [
            ("user", "how do we ship the agent to the customers' machines?"),
            (
                "agent",
                "Three ways:\n\nA. A Debian package\nB. A container image\nC. A single static binary built with `musl`\n\nWhich one do you prefer?",
            ),
            ("user", "C sounds right to me, nobody there has root"),
            ("agent", "Alright."),
        ],
        ("decision", ("a single static binary built with `musl`", "nobody there has root")),
    ),
    "a wish that is said for the third time": (
        [
            ("user", "what does the scheduler do?"),
            ("agent", "It wakes up every minute. (And so on for a page.)"),
            ("user", "can you keep the explanations shorter"),
            ("agent", "Sure."),
            ("user", "and the retry queue?"),
            ("agent", "The retry queue is a table. (And so on for a page.)"),
            ("user", "again way too long, keep explanations to two or three sentences"),
            ("agent", "Sorry."),
            ("user", "and the worker?"),
            ("agent", "The worker takes one job. (And so on for a page.)"),
            ("user", "that's still a wall of text. keep your explanations to three sentences, please"),
            ("agent", "OK."),
        ],
        ("preference", ("Keep your explanations to three sentences.",)),
    ),
    "a rule about the work that is said again and again": (
        [
            ("user", "add a test for the parser"),
            ("agent", "Added, I ran the whole suite."),
            ("user", "please only run the tests of the module you changed, the whole suite takes an hour"),
            ("agent", "OK."),
            ("user", "now the lexer"),
            ("agent", "Done, all 4000 tests pass."),
            ("user", "third time: run only the tests of the module that you changed"),
            ("agent", "Understood."),
        ],
        ("constraint", ("Only run the tests of the module you changed", "takes an hour")),
    ),
    "a constraint from outside": (
        [
            ("user", "write the importer for the vendor's export"),
            ("agent", "It fetches all pages of `/v2/export` in parallel."),
            (
                "user",
                "the importer must never send more than 30 requests a minute to /v2/export, the vendor locks the account for a day otherwise",
            ),
            ("agent", "I added a limiter."),
        ],
        ("constraint", ("30 requests a minute", "locks the account")),
    ),
    "a convention that is taught in passing": (
        [
            ("user", "add tests for the parser"),
            ("agent", "I put them into `tests/parser_test.go`."),
            (
                "user",
                "just so you know, in this codebase tests live next to the module they cover, so parser_test.go sits beside parser.go",
            ),
            ("agent", "Moved."),
        ],
        ("convention", ("In this codebase tests live next to the module they cover", "parser_test.go")),
    ),
    "a question that is left open": (
        [
            ("user", "let's get the cache working locally first"),
            ("agent", "It uses `cache.sqlite` now."),
            (
                "user",
                "good. we haven't decided yet whether prod keeps the sqlite cache or moves to redis, let's leave that for after the launch",
            ),
            ("agent", "OK."),
        ],
        ("open_question", ("Open: whether prod keeps the sqlite cache or moves to redis",)),
    ),
    "a goal beyond the task": (
        [
            ("user", "build a first version of the report page"),
            ("agent", "Here is `report.html`."),
            (
                "user",
                "nice. our goal is that anybody without a license can open the reports on their phone, the export is only the first step",
            ),
            ("agent", "Understood."),
        ],
        ("goal", ("anybody without a license can open the reports",)),
    ),
    "a host that moved": (
        [
            ("user", "the deploy script hangs"),
            ("agent", "It waits for ci-01 to answer on port 22."),
            ("user", "ah right, builds run on ci-02 now, ci-01 has been switched off since the move"),
            ("agent", "I changed the host."),
        ],
        ("project_fact", ("Builds run on ci-02", "ci-01 has been switched off")),
    ),
    "a version that runs somewhere": (
        [
            ("user", "use the built-in fetch for that"),
            ("agent", "Done, I used `fetch` with `AbortSignal.any`."),
            ("user", "the prod boxes are still on node 18, which has no `AbortSignal.any`"),
            ("agent", "I replaced it."),
        ],
        ("project_fact", ("The prod boxes are still on node 18",)),
    ),
    "a command that works": (
        [
            ("user", "how do I get a shell in the staging db?"),
            ("agent", "Try `psql -h staging`."),
            ("user", "that won't work, the staging db only answers through `make tunnel`, on localhost:5433"),
            ("agent", "Noted."),
        ],
        ("project_fact", ("The staging db only answers through `make tunnel`, on localhost:5433.",)),
    ),
}

# A profile that remembers people: who they are, whom they work with, what they like and use.
PERSONAL = {
    "en": (
        ("hi! btw I'm Marta, I look after the billing team here in Porto. My colleague Jonas approves every change to the ledger.", "I love short answers, I hate long lists."),
        {"person": "Marta", "people": "Jonas approves", "preferences": "short answers"},
    ),
    "de": (
        ("Hallo! Ich bin Marta und betreue die Buchhaltung in Graz. Meine Kollegin Ida prüft jede Rechnung, bevor sie rausgeht.", "Ich mag kurze Antworten lieber als lange Listen."),
        {"person": "Ich bin Marta", "people": "Ida prüft jede Rechnung", "preferences": "kurze Antworten"},
    ),
    "es": (
        ("¡Hola! Me llamo Marta y trabajo en contabilidad en Sevilla. Mi compañera Ana revisa todas las facturas.", "Me gustan las respuestas cortas, no las listas largas."),
        {"person": "Me llamo Marta", "people": "Ana revisa todas", "preferences": "respuestas cortas"},
    ),
    "fr": (
        ("Bonjour ! Je m'appelle Marta et je travaille à la comptabilité à Lyon. Ma collègue Anne relit toutes les factures.", "J'aime les réponses courtes et je déteste les longues listes."),
        {"person": "Je m'appelle Marta", "people": "Anne relit", "preferences": "réponses courtes"},
    ),
    "pt": (
        ("Oi! Eu me chamo Marta e trabalho na contabilidade em Lisboa. A minha colega Ana revisa todas as faturas.", "Eu gosto de respostas curtas e não de listas longas."),
        {"person": "Eu me chamo Marta", "people": "Ana revisa", "preferences": "respostas curtas"},
    ),
    "zh": (
        ("你好！我叫李明，在杭州的一家物流公司工作。我的同事小王负责所有的发票。", "我不喜欢很长的列表，喜欢简短的回答。"),
        {"person": "我叫李明", "people": "小王负责", "preferences": "简短的回答"},
    ),
    "ja": (
        ("こんにちは。私の名前は田中で、大阪の物流会社で働いています。私の同僚の佐藤さんが請求書をすべて確認します。", "私は短い答えが好きです。"),
        {"person": "私の名前は田中", "people": "佐藤さん", "preferences": "短い答え"},
    ),
}  # fmt: skip

# One conversation at work in each language: a decision with its reason, a wish for the agent, a fact; the step in between leaves nothing.
AT_WORK = {
    "de": (
        "kannst du den Export für die Buchhaltung bauen?",
        "Wir haben uns letzte Woche übrigens für DuckDB statt SQLite entschieden, weil das Büro die Parquet-Dateien damit öffnet.",
        "Und frag mich bitte, bevor du an der Datenbank etwas löschst.",
        "der Staging-Server ist übrigens db2.internal, db1 ist abgeschaltet",
        "jetzt lass bitte die Tests laufen",
    ),
    "es": (
        "¿puedes hacer la exportación para contabilidad?",
        "La semana pasada decidimos usar DuckDB en vez de SQLite porque la oficina abre los archivos Parquet con él.",
        "y pregúntame antes de borrar nada de la base de datos, por favor",
        "el servidor de staging ahora es db2.internal, no db1",
        "ahora ejecuta las pruebas",
    ),
    "fr": (
        "tu peux faire l'export pour la compta ?",
        "La semaine dernière on a décidé d'utiliser DuckDB au lieu de SQLite parce que le bureau ouvre les fichiers Parquet avec.",
        "et demande-moi avant de supprimer quoi que ce soit dans la base, s'il te plaît",
        "au fait le serveur de staging est maintenant db2.internal, pas db1",
        "maintenant lance les tests",
    ),
    "pt": (
        "você pode fazer a exportação para a contabilidade?",
        "Na semana passada decidimos usar DuckDB em vez de SQLite porque o escritório abre os arquivos Parquet com ele.",
        "e me pergunte antes de apagar qualquer coisa do banco de dados, por favor",
        "o servidor de staging agora é db2.internal, não db1",
        "agora rode os testes",
    ),
    "zh": (
        "帮我做一个给财务用的导出功能",
        "上周我们决定用 DuckDB 而不是 SQLite，因为办公室直接用它打开 Parquet 文件",
        "还有，删除数据库里的任何东西之前先问我",
        "对了，测试服务器现在是 db2.internal，不是 db1",
        "现在运行测试",
    ),
    "ja": (
        "経理用のエクスポート機能を作ってくれますか",
        "先週、SQLite ではなく DuckDB を使うことに決めました。",
        "それと、データベースから何かを削除する前に必ず聞いてください",
        "ちなみに、ステージングサーバーは今 db2.internal です。",
        "では、テストを実行して",
    ),
}


def active(desk_at, home, profile="coding"):
    with desk_at(home, profile=profile) as desk:
        run(desk, [], Options(model=False))
        return [each for each in desk.store.log.memories() if each.status is Status.ACTIVE]


@pytest.mark.parametrize("intent", CODING)
def test_a_conversation_as_people_have_it_leaves_its_memory(desk_at, home, intent):
    turns, (category, parts) = CODING[intent]
    converse(home, "s1", *turns)
    found = active(desk_at, home)
    assert [(each.category, all(part in each.content for part in parts)) for each in found] == [(category, True)], found
    (memory,) = found
    assert memory.evidence[0].quote in "\n".join(words for _, words in turns)
    assert any(each.author == "human" for each in memory.evidence)


@pytest.mark.parametrize("intent", ["a yes to what the assistant recommended", "an option named by its letter"])
def test_what_is_agreed_rests_on_the_answer_and_on_what_it_answers(desk_at, home, intent):
    converse(home, "s1", *CODING[intent][0])
    (memory,) = active(desk_at, home)
    assert {each.author for each in memory.evidence} == {"human", "assistant"}


@pytest.mark.parametrize("language", PERSONAL)
def test_what_people_tell_of_themselves_is_remembered_in_their_words(desk_at, home, language):
    prompts, expected = PERSONAL[language]
    converse(home, "s1", *(turn for words in prompts for turn in (("user", words), ("agent", "OK."))))
    found = active(desk_at, home, "companion")
    assert {each.category for each in found} == set(expected)
    for category, words in expected.items():
        assert any(words in each.content for each in found if each.category == category), found


@pytest.mark.parametrize("language", AT_WORK)
def test_a_conversation_at_work_leaves_its_memories_in_the_language_it_was_held_in(desk_at, home, language):
    asked, decision, wish, fact, step = AT_WORK[language]
    converse(home, "s1", *(turn for words in (asked, decision, wish, fact, step) for turn in (("user", words), ("agent", "OK."))))
    found = {each.category: each.content for each in active(desk_at, home)}
    assert sorted(found) == ["decision", "preference", "project_fact"], found
    assert decision.rstrip("。.") in found["decision"]
    assert wish[-12:] in found["preference"]
    assert "db2.internal" in found["project_fact"]
    assert all(each[-1] == ("。" if language in ("zh", "ja") else ".") for each in found.values()), found
