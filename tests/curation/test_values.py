"""The same thing with another value: which later statement leaves no room for an earlier one."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.artifact import find_artifacts
from kept.core.memory import Status
from kept.core.statement import is_same_statement, parse_statement
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement

GOLD = Path(__file__).parents[3] / "shared" / "gold"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from superseded import score  # noqa: E402 - a module of that folder
from wishes import propose, remember  # noqa: E402

REPLACED = [
    ("The launch is in May.", "The launch is now planned for July."),
    ("The deadline of the grant is 2026-03-01.", "The deadline of the grant is 2026-04-15."),
    ("The standup is on Monday.", "The standup is on Thursday."),
    ("We have 500 subscribers.", "We have 800 subscribers."),
    ("Our newsletter has 500 subscribers.", "Our newsletter now has 800 subscribers."),
    ("The hosting costs $20 a month.", "The hosting costs $35 a month."),
    ("I live in Bergen.", "I moved to Oslo, I no longer live in Bergen."),
    ("I live in Berlin.", "I live in Lisbon now."),
    ("My dentist is Dr. Huber.", "My dentist is now Dr. Lang."),
    ("My phone is a Pixel 7.", "My phone is an iPhone now."),
    ("My editor is Vim.", "I switched from Vim to Helix."),
    ("The QA lead is Olga.", "Pedro has replaced Olga as the QA lead."),
    ("I live in Bergen.", "I moved to Oslo last week, I no longer live in Bergen."),
    ("I moved to Oslo, I no longer live in Bergen.", "Ich wohne jetzt in Lissabon."),
    ("I live in Berlin.", "Ich wohne jetzt in Lissabon."),
    ("Ich wohne in Berlin.", "J'habite maintenant à Lyon."),
    ("Vivo en Madrid.", "我现在住在里斯本。"),
    ("The app listens on port 8080.", "The app listens on port 9090 now."),
    ("We deploy the site to Heroku.", "We now deploy the site to Fly."),
    ("The launch is in July.", "The launch is in May, not in July."),
    ("The launch is in May, not in July.", "The launch is now planned for June."),
    ("Die Abgabe ist im Mai.", "Die Abgabe ist jetzt im Juli."),
    ("El lanzamiento es en mayo.", "El lanzamiento es ahora en julio."),
    ("The config file is `settings.ini`.", "The config file is `settings.toml` (formerly `settings.ini`)."),
    ("The cache of the search page is kept in Redis.", "The Redis cache of the search page was removed."),
    ("Reviews are done on Gerrit.", "We switched from Gerrit to GitHub, reviews are done there."),
    ("We first used a cron job for the nightly export of paid orders.", "The nightly export of paid orders runs as a job."),
    ("Module Parser is owned by Anna.", "Module Parser is now owned by Bob."),
    ("The server Alpha is in Frankfurt.", "The server Alpha is now in Paris."),
    ("Der Server Alpha steht in Frankfurt.", "Der Server Alpha steht jetzt in Paris."),
    ("Wir speichern die Rechnungen als CSV.", "Wir speichern die Rechnungen als Parquet, nicht mehr als CSV."),
    ("The server is in Frankfurt.", "The server is now in Helsinki."),
    ("Le serveur est à Paris.", "Le serveur est maintenant à Lyon."),
    ("服务器在上海。", "服务器现在在北京。"),
    ("发布日期是五月十日。", "发布日期改为六月一日。"),
    ("サーバーは東京にあります。", "サーバーは現在大阪にあります。"),
    ("The api runs on Django 4.2.", "We upgraded the api to Django 5.0."),
    ("The rate limit is 100 requests per minute.", "We raised the rate limit to 250 requests per minute."),
    ("The deadline of the report is March 1.", "The deadline of the report has moved to April 15."),
    ("The main package is called harbor-core.", "The main package was renamed to quay-core."),
    ("Our contact at the bank is Mrs Keller.", "Our contact at the bank is now Mr Vogt."),
    ("The package manager of this project is npm.", "We switched to pnpm as the package manager of this project."),
    ("Maria owns the billing module.", "Tom owns the billing module now."),
    ("The API key rotates every 30 days.", "The API key rotates every 90 days (was 30)."),
    ("The staging server requires a VPN.", "The staging server does not require a VPN any more."),
    ("Always run the linter before committing.", "Never run the linter before committing, the hook does it."),
    ("Our docs live in Notion.", "We moved our docs to Obsidian."),
    ("The CLI is written in Go.", "We rewrote the CLI in Rust, it is no longer in Go."),
    ("The beta starts on 3 March.", "The beta starts on 17 March, not on 3 March."),
    ("Use npm for the scripts.", "Use bun instead of npm for the scripts."),
    ("Use npm for the scripts in the web folder.", "Use bun, not npm."),
    ("Use gorm for the orders service.", "Do not use gorm for the orders service."),
    ("We use gorm for the orders service.", "We no longer use gorm for the orders service."),
    ("Use yarn for packages.", "Switch from yarn to pnpm for packages."),
    ("Use bun instead of npm.", "Use npm instead of bun."),
    ("The project uses Go version 1.24.", "The project uses Go version 1.25."),
    ("The border of the panel is at most 3px wide.", "The border of the panel is at most 4px wide."),
    ("The default branch is main.", "The default branch is develop."),
    ("Run the E2E tests automatically.", "Do not run the E2E tests automatically anymore."),
    ("Publicamos con rsync.", "Publicamos con git en lugar de rsync."),
    ("Nous avons décidé d'utiliser Postgres parce qu'il est là.", "Nous avons décidé de ne plus utiliser Postgres, mais SQLite."),
]
BOTH_STAND = [
    ("The parser is fast.", "The parser is now documented."),
    ("Invoices are stored in S3.", "Avatars are now stored in R2."),
    ("Tests in the api folder use pytest.", "Tests in the web folder now use Vitest."),
    ("Tom reviews the API changes.", "Tom now reviews the database changes."),
    ("The site must work in Firefox.", "The site must now work in Safari."),
    ("The build is green on Linux.", "The build is now green on Windows."),
    ("Version 2 of the API is stable.", "Version 3 of the API is now stable."),
    ("Always run the tests before a commit.", "Never run the slow tests before a commit."),
    ("Now populate the name in `a.go`.", "Now populate the name in `b.go`."),
    ("Clawk reply to funwolf: the diff is mine.", "Clawk reply to gerundium: logs prove what happened, not why."),
    # Two things, each with a value of its own.
    ("The api has 3 workers.", "The importer has 5 workers."),
    ("The port of the api is 8080.", "The port of the web is 9090."),
    ("Server 1 has 8 cores.", "Server 2 has 8 cores."),
    ("Issue 12 is due on Monday.", "Issue 13 is due on Friday."),
    ("Room 4 has 20 seats.", "Room 5 has 30 seats."),
    ("The house has 2 floors.", "The house has 3 bathrooms."),
    ("Ana lives in Porto.", "Rui lives in Braga."),
    ("I live in Berlin.", "I work in Potsdam."),
    ("I live in Berlin.", "Ana moved to Lisbon."),
    ("I live in Berlin.", "I moved to Neovim."),
    ("Migration 41 is now done.", "Migration 42 is now done."),
    ("Module Parser is owned by Anna.", "Module Lexer is now owned by Anna."),
    ("The server Alpha is in Frankfurt.", "The server Beta is now in Frankfurt."),
    ("Le serveur Alpha est à Lyon.", "Le serveur Beta est maintenant à Lyon."),
    ("Anna owns the Parser module.", "Anna now owns the Lexer module."),
    ("We deploy the Parser to Heroku.", "We now deploy the Lexer to Heroku."),
    # One thing, several values at once.
    ("The api listens on port 80.", "The api listens on port 443."),
    ("The api listens on port 80.", "The api also listens on port 443 now."),
    ("Python 3.11 is supported.", "Python 3.12 is supported now."),
    ("The cli supports Python 3.11.", "The cli now supports Python 3.12."),
    ("My son is 7.", "My son is 4."),
    ("The team meets on Mondays.", "The team meets on Thursdays."),
    ("A backup is on Monday.", "A backup is on Friday."),
    ("We also have 500 subscribers.", "We have 800 subscribers."),
    ("We use Postgres for the orders.", "We use Redis for the sessions."),
    # Narrower, conditional, examples, questions, events.
    ("Use npm for the scripts.", "In the api folder use bun instead of npm for the scripts."),
    ("The timeout is 30 s.", "If the disk is slow the timeout is 60 s."),
    ("The form has 3 fields.", "For example the form has 5 fields."),
    ("The launch is in May.", "Is the launch in July?"),
    ("On Monday we fixed the parser.", "On Friday we fixed the parser."),
    ("The workshop in May was long.", "The workshop in July was long."),
    ("We released 1.2 in May.", "We released 1.3 in July."),
    ("Npm is used in the web folder.", "If you are on Windows, npm is no longer used in the web folder."),
    ("We use gorm.", "We no longer use gorm for the orders service."),
    # What is gone is another thing of the same words, or was denied before.
    ("The helper of the parser reads tokens lazily.", "The helper page was removed."),
    ("The cache of the preview build is cleared at night.", "There is no cache."),
    ("We do not use gorm for orders.", "We no longer use gorm for orders."),
    ("First run the migrations of the orders table.", "The migrations of the orders table run in the job."),
    ("Never log tokens of the api.", "Tokens of the api are rotated instead of logged."),
    ("The export takes orders of the last year from the archive.", "Orders used to be small."),
    ("Use `a.py` for the export.", "Do not use `b.py` for the export."),
    ("Migration 41 must run before the deploy.", "Migration 42 must run before the deploy."),
    ("See issue 12 for the plan of the parser.", "See issue 13 for the plan of the parser."),
    ("The cli is fast.", "The cli is written in Go."),
    ("The port of the api is 8080.", "The port of the web is 8081."),
    ("Tests use the network.", "Tests use the clock."),
    ("Use pytest for unit tests.", "Use playwright for browser tests."),
    ("Python 3.11 is supported by the cli.", "Python 3.12 is supported by the cli."),
    ("The build fails with Go 1.24 on the runner.", "The build fails with Go 1.25 on the runner."),
    ("Never log tokens.", "Never log passwords."),
    ("Port 8080 must be open.", "Port 8081 must be open."),
    ("Use bun, not npm.", "Use bun for scripts."),
    ("The title of the start page should say Welcome.", "The title of the settings page should say Settings."),
    ("The tests should be short.", "The tests should be fast."),
    ("Do not use npm.", "Do not use yarn."),
]


MAY_CONTRADICT = [
    ("I work as a teacher in Graz.", "I no longer work as a teacher, I am a librarian now."),
    ("Dark mode is enabled by default.", "Dark mode is disabled by default."),
    ("I live in Bergen and work as a translator.", "I moved to Oslo last week, I no longer live in Bergen."),
    ("I live in Bergen and work as a translator.", "I live in Oslo now."),
    ("The dev server listens on port 3000.", "The dev server listens on port 5173."),
    ("Our contact at the bank is Mrs Keller.", "Our contact at the bank is Mr Vogt."),
    ("The link text in the dark theme is b5bd68.", "The link text in the dark theme is 81a2be."),
    ("From now on, use tabs.", "From now on, use spaces."),
    ("From now on, use spaces.", "From now on, use tabs again."),
    ("A partir de ahora usa tabuladores.", "A partir de ahora usa espacios."),
    ("Always run the tests with pytest -q before you commit.", "Never run the tests before you commit, CI does it."),
    (
        "from now on run the tests with `uv run pytest -x`, never plain pytest",
        "From now on, tests run with `make test`, not uv run pytest any more.",
    ),
    # Somebody else does it now. Others may do it as well, and the earlier statement says more.
    ("Lena owns the billing module, Tom the frontend.", "Kofi owns the billing module now."),
    ("Marta revisa los contratos.", "Pablo revisa los contratos ahora."),
    ("Ana reviews the schema changes.", "Jo reviews the schema changes now, Ana is on leave."),
    ("Petra schreibt den Rundbrief.", "Jetzt schreibt Olaf den Rundbrief."),
    ("a Rita confere os pedidos", "agora o Nuno confere os pedidos"),
    ("The nightly job runs on hermes.", "The nightly job runs on apollo now."),
]
# How people say it who know of no forms; one of each kind of change is enough.
SAID_OTHERWISE = [
    ("Mi jefa es Carmen Ruiz.", "Carmen Ruiz se fue, mi jefe es Álvaro Gil."),
    ("Ich fahre mit dem Rad zur Arbeit.", "Zur Arbeit nehme ich inzwischen die S-Bahn."),
    ("We keep secrets in Vault.", "Secrets live in AWS Secrets Manager, we got rid of Vault."),
    ("Our mobile app targets Android 10 and up.", "We've bumped the minimum for the mobile app to Android 12."),
    ("Jonas handles the on-call rota.", "Priya has taken over the on-call rota from Jonas."),
    ("Кота зовут Барсик, он ест сухой корм.", "Барсику сухой корм больше нельзя, только влажный."),
    ("Я живу в Казани.", "Я переехал в Самару в прошлом месяце."),
    ("Le site est hébergé chez OVH.", "On a basculé l'hébergement du site chez Scaleway."),
    ("The weekly report goes out on Friday afternoon.", "Send the weekly report Monday morning, Friday was too late for people."),
    ("Die Tickets verwalten wir in Jira.", "Tickets stehen bei uns in Linear, Jira ist abgeschafft."),
    ("Staging sits behind the Hetzner load balancer.", "Staging is on a plain DigitalOcean droplet these days, no load balancer."),
    ("Invoices need a PO number.", "Invoices don't need a PO number."),
    ("Мы используем Jenkins для сборки.", "Сборку перевели с Jenkins на GitLab CI."),
    ("Il nostro fornitore di caffè è Vergnano.", "Ora il caffè lo prendiamo da Lavazza invece che da Vergnano."),
    ("The wedding will be at the Orangerie.", "The Orangerie fell through, the wedding is happening at Schloss Au."),
    ("El plazo de entrega es de dos semanas.", "Hemos ampliado el plazo de entrega a tres semanas."),
    ("A reunião do time é às nove.", "A reunião do time passou para as dez e meia."),
    ("My daughter goes to Lakeside primary.", "My daughter is at Hillcrest secondary since September."),
    ("We pay contractors via Wise.", "Contractors get paid through Deel, Wise got too expensive."),
    ("El servidor de pruebas usa MySQL.", "Pasamos el servidor de pruebas a MariaDB."),
    ("Commit messages are written in English.", "Write commit messages in German please, the client wants it."),
    ("The feature branch prefix is feat/.", "Name feature branches with ft/ as prefix from here on, the old feat/ is dead."),
    ("Ma sœur habite à Nantes.", "Ma sœur s'est installée à Bordeaux."),
    ("Il corso di ceramica è il martedì.", "Il corso di ceramica è stato spostato al giovedì."),
    ("Les factures partent le 30 du mois.", "On envoie les factures le 5 du mois suivant désormais."),
    ("Das Backup läuft nachts um drei.", "Das Backup starten wir ab sofort um fünf Uhr früh."),
    ("O banco de dados roda em Recife.", "O banco de dados foi transferido para São Paulo."),
    # A label is no part of what is said, a language is a value in whatever case it is written.
    ("Lunch is at 12:15.", "note: lunch 12:45"),
    ("Nutze Kelvin in den Diagrammen der Öfen.", "Notiz: in den Diagrammen der Öfen stehen Grad Celsius"),
    ("Write the news in german in the tern repo, customers read them.", "tern repo: the news have to be in English."),
    # What the two share are the words that are least rare where there are no others.
    ("The main server of the builds is TeamCity on host cellar01.", "We moved from TeamCity to GitLab, the builds are there now."),
]
OF_OTHER_THINGS = [
    ("From now on never commit .env files.", "From now on never commit node_modules."),
    ("From now on the staging server listens on port 8443.", "From now on the production server listens on port 9443."),
    ("From now on the billing service is owned by Ana.", "From now on the search service is owned by Ben."),
    ("Never edit tides.py by hand, always run make tides instead.", "Never edit ports.py by hand, always run make ports instead."),
    ("Ab sofort braucht der Importer Redis.", "Ab sofort braucht der Exporter Postgres."),
    ("Le frontend utilise Vue.", "Le backoffice utilise React."),
    ("Anna reviews the SQL migrations.", "Ben reviews the Terraform changes."),
    ("I play the cello on Tuesdays.", "I play badminton on Thursdays."),
    ("My brother lives in Leeds.", "My cousin lives in Sheffield."),
    ("Die API ist in Go geschrieben.", "Das Frontend ist in TypeScript geschrieben."),
    ("Тесты запускаем через pytest.", "Линтер запускаем через ruff."),
    ("Use Vitest for the unit tests.", "Use Playwright for the end-to-end tests."),
    ("J'aime les romans policiers.", "J'aime les bandes dessinées."),
    ("Staging runs on port 8443.", "Production runs on port 443."),
    ("La palestra è in via Roma.", "Lo studio è in via Garibaldi."),
    ("I'm allergic to peanuts.", "I'm allergic to penicillin."),
    ("Meine Mutter hat am 4. Mai Geburtstag.", "Mein Vater hat am 9. November Geburtstag."),
    ("Dates in the UI are shown as DD.MM.YYYY.", "Dates in the API are ISO 8601."),
    ("The payments service is written in Kotlin.", "The notifications service is written in Elixir."),
    ("The importer retries three times.", "The exporter waits ten seconds between tries."),
    ("Our Berlin office opens at nine.", "Our Lisbon office opens at ten."),
    ("Der Kunde Meyer zahlt immer spät.", "Der Kunde Schulz zahlt immer pünktlich."),
    ("O relatório mensal vai para a Marta.", "O relatório anual vai para o Tiago."),
    ("El perro se llama Toby.", "La gata se llama Nube."),
    ("Los lunes trabajo desde casa.", "Los miércoles trabajo desde casa."),
    ("The api limit is 100 requests per minute.", "The admin api limit is 500 requests per minute."),
    ("From now on, use tabs.", "From now on, use semicolons."),
    ("Always ask before you push to main.", "Never push to main."),
    ("Always use pnpm, never npm.", "Never use npm."),
    ("Ana reviews the schema changes.", "Jo reviews the API changes now."),
    ("Docs live in Notion.", "Notes live in Notion now."),
    ("The nightly job runs on hermes.", "The weekly job runs on apollo now."),
    (
        "from now on run the unit tests with `make unit`",
        "From now on run the e2e tests with `make e2e`, not by hand any more.",
    ),
]
SAID_AGAIN = [
    ("On ne pousse jamais directement sur main.", "Jamais de push direct sur main."),
    ("Bitte immer auf Deutsch antworten.", "Antworte bitte stets auf Deutsch."),
    ("No uses emojis en las respuestas.", "Nada de emojis en las respuestas."),
    ("Never deploy on a Friday.", "No deployments on Fridays, ever."),
    ("Il deploy lo fa solo Giulia.", "Solo Giulia fa il deploy."),
    ("The API must answer within 200 ms.", "API responses have to arrive in under 200 ms."),
    ("Не добавляй зависимости без спроса.", "Спрашивай, прежде чем добавлять зависимости."),
    ("Logs go to stderr, never to stdout.", "Write logs to stderr only, not stdout."),
    ("Keep pull requests small.", "Pull requests should be kept small."),
    ("I'm vegetarian.", "I don't eat meat."),
]


def pairs(*texts: str, sure: bool = True) -> list[tuple[int, int]]:
    says = [parse_value_statement(each, parse_statement(each, find_artifacts(each))) for each in texts]
    return [(earlier, later) for earlier, later, is_sure in find_value_pairs(says) if is_sure is sure]


@each_case(("earlier", "later"), REPLACED)
def test_another_value_of_the_same_thing_in_a_plain_form_replaces_the_earlier_one(earlier, later):
    assert set(pairs(earlier, later)) == {(0, 1)}


@each_case(("earlier", "later"), BOTH_STAND)
def test_what_can_be_so_at_once_replaces_nothing(earlier, later):
    assert pairs(earlier, later) == []


@each_case(("earlier", "later"), MAY_CONTRADICT)
def test_another_value_without_a_word_of_change_is_a_pair_for_a_person(earlier, later):
    assert pairs(earlier, later) == []
    assert pairs(earlier, later, sure=False) == [(0, 1)]


@each_case(("earlier", "later"), SAID_OTHERWISE)
def test_whoever_tells_a_change_in_their_own_words_leaves_no_two_values_beside_each_other(earlier, later):
    assert [*pairs(earlier, later), *pairs(earlier, later, sure=False)] == [(0, 1)]


@each_case(("earlier", "later"), OF_OTHER_THINGS + SAID_AGAIN)
def test_what_is_said_of_another_thing_or_again_contradicts_nothing(earlier, later):
    assert [*pairs(earlier, later), *pairs(earlier, later, sure=False)] == []


@each_case(("earlier", "later"), REPLACED + MAY_CONTRADICT)
def test_no_two_values_are_one_statement(earlier, later):
    assert not is_same_statement(*(parse_statement(each, find_artifacts(each)) for each in (earlier, later)))


@each_case(
    "prompts",
    [
        ("from now on, use tabs", "from now on, use spaces", "from now on, use tabs again"),
        ("Always run the tests with pytest -q before you commit.", "Never run the tests before you commit, CI does it."),
        ("from now on commits are in English", "scrap that, from now on commits are in German"),
        ("Remember: Lena owns the billing module, Tom the frontend.", "Remember that Kofi owns the billing module now."),
        ("Remember: deploy only with `make ship`.", "deploy is now make release, not make ship"),
        ("Remember: the demo host is demo.old.example.", "the demo host is now demo.example, not demo.old.example"),
        ("Merk dir: Releases gehen über make ship.", "Releases sind jetzt make release, nicht make ship"),
        ("We decided on Postgres because of its types.", "we decided against Postgres; SQLite it is, because there is one user"),
    ],
)
def test_of_tellings_that_contradict_each_other_only_the_last_is_active(prompts):
    memories = remember([each for day, prompt in enumerate(prompts) for each in propose(prompt, 5 * day)]).values()
    assert [prompts[-1].endswith(each.content) for each in memories if each.status is Status.ACTIVE] == [True]
    assert len(memories) == len(prompts)


def test_what_is_said_to_be_so_now_waits_where_it_changes_nothing():
    (memory,) = remember(propose("prod is now hal10, not hal2", 0)).values()
    assert memory.status is Status.HELD


@given(st.text(max_size=300))
def test_no_text_replaces_itself(text):
    assert pairs(text, text) == pairs(text, text, sure=False) == []


@pytest.mark.skipif(not GOLD.is_dir(), reason="the annotated memories are not here")
def test_of_annotated_memories_those_that_gave_way_give_way_by_rules_and_more_with_recorded_replies():
    counts = score(GOLD, BENCHMARKS / "superseded", "careful")
    rules, replies = counts["rules"], counts["replies"]
    assert rules["ended, rightly"] + rules["active, wrongly"] + rules["waits as a contradiction, wrongly"] == 25
    assert (rules["ended, rightly"] >= 8, rules["ended, wrongly"]) == (True, 0)
    assert (replies["ended, rightly"] >= 20, replies["ended, wrongly"] <= 1) == (True, True)
