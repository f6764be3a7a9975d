"""Which passages of a prompt the person asserts: what they ask, suppose, quote, order to be written or take back waits."""

from test_handover import handed, suggest, verdict

from cases import each_case
from kept.core.memory import ANOTHERS, ASKED, CONTENT, JEST, ONCE, SUPPOSED, WITHDRAWN, Accepted
from kept.extraction.rules import assertion
from talk import user


def given(marked):
    """The one candidate of a prompt in which the passage in double brackets is handed over."""
    before, _, rest = marked.partition("[[")
    passage, _, after = rest.partition("]]")
    (made,) = handed(user(before + passage + after), suggest(passage))
    return made


@each_case(
    ("marked", "doubt"),
    [
        ("Should [[we always sign the release tarballs with cosign]] from now on?", ASKED),
        ("[[Do we always sign the release tarballs with cosign]]", ASKED),
        ("Is it right that [[all release tarballs need a cosign signature]]?", ASKED),
        ("[[sign the release tarballs with cosign every time]]? lol no", ASKED),
        ("Sollen [[wir alle Release-Archive immer mit cosign signieren]]?", ASKED),
        ("Faut-il [[toujours signer les archives publiées avec cosign]] ?", ASKED),
        ("¿[[Siempre firmamos los paquetes publicados con cosign]]?", ASKED),
        ("Será que [[sempre assinamos os pacotes publicados com cosign]]?", ASKED),
        ("[[我们发布软件包之前总是使用签名工具]]吗？", ASKED),
        ("[[リリース前に必ず署名ツールを使用する]]べきですか", ASKED),
        ("If we were a bank, [[we would sign every release tarball with cosign]].", SUPPOSED),
        ("Just for this session, from now on [[skip the signing of release tarballs]], my key is lost.", ONCE),
        ("After the match [[we sign every release tarball with cosign from now on, haha]].", JEST),
        ("Na klar, [[ab jetzt testen wir immer direkt beim Kunden]], super Plan, Herr Müller.", JEST),
        ("Claro, [[a partir de agora apagamos os backups antes do deploy]], ideia genial do estagiário.", JEST),
        ("Continue my chapter. [[From now on nobody leaves the deck after sunset]], he said and shut it.", assertion.ANOTHERS),
        ("Oh great. [[From now on we sign no release tarball at all]] 🙃 /s anyway, look at the trace.", JEST),
        ("[[From now on, maybe sign every release tarball with cosign]].", SUPPOSED),
        ("[[From now on we sign every release tarball with cosign, perhaps.]]", SUPPOSED),
        ("[[A partir de ahora, quizás firmamos cada paquete con cosign]].", SUPPOSED),
        ("[[If we were a bank, we would sign every release tarball with cosign]].", SUPPOSED),
        ("I wonder whether to [[sign every release tarball with cosign]] or to leave it.", SUPPOSED),
        ("[[Sign every release tarball with cosign]] if the client is a bank.", SUPPOSED),
        ("Falls der Kunde eine Bank ist, [[signieren wir jedes Release-Archiv mit cosign]].", SUPPOSED),
        ("Je me demande s'il faut [[signer chaque archive publiée avec cosign]].", SUPPOSED),
        ("Si fuéramos un banco, [[firmaríamos cada paquete publicado con cosign]].", SUPPOSED),
        ("Talvez [[cada pacote publicado precise de assinatura cosign]].", SUPPOSED),
        ("如果客户是银行，[[我们发布软件包之前总是使用签名工具]]。", SUPPOSED),
        ("もし銀行なら、[[リリース前に必ず署名ツールを使用する]]。", SUPPOSED),
        ("[[Run the importer with checksum validation off]] once, to see whether it helps.", ONCE),
        ("[[Starte den Importer ohne Prüfsummen und ohne Cache]], nur dieses eine Mal.", ONCE),
        ("[[Lance l'import sans validation des sommes]] cette fois.", ONCE),
        ("Add to the README: [[release tarballs are always signed with cosign]].", CONTENT),
        ("Change the text of the banner to: [[Release tarballs are always signed with cosign]].", CONTENT),
        ("Mail from the vendor:\n\n[[release tarballs are always signed with cosign]].", ANOTHERS),
        ("From https://docs.example/guide:\n\n[[Release tarballs are always signed with cosign]].", ANOTHERS),
        ("Here is the letter of our client.\n\nHi all,\n[[release tarballs are always signed with cosign]].", ANOTHERS),
        ("[[Release tarballs are always signed with cosign]], said Jo.", ANOTHERS),
        ("[[Release tarballs are always signed with cosign]]. No wait, scrap that, leave them.", WITHDRAWN),
        ("[[Release tarballs are always signed with cosign]].\n\nJust kidding.", WITHDRAWN),
        ("[[Release-Archive werden immer mit cosign signiert]]. Quatsch, vergiss das.", WITHDRAWN),
        ("[[Los paquetes publicados siempre llevan firma cosign]]. No, espera.", WITHDRAWN),
        ("[[我们发布软件包之前总是使用签名工具]]。算了。", WITHDRAWN),
    ],
)
def test_a_passage_that_the_person_does_not_assert_waits(marked, doubt):
    made = given(marked)
    assert made.doubt == doubt
    assert not isinstance(verdict(made), Accepted)


@each_case(
    "marked",
    [
        "Can you please [[sign the release tarballs with cosign every time]]?",
        "[[we have over a thousand tarballs without any signature]] ...is this still a good idea?",
        "nevermind, i fixed it. [[release tarballs are always signed with cosign]]",
        "Add this to your memory: [[release tarballs are always signed with cosign]].",
        "keep in mind: [[if a tarball has no signature, the release job should fail]].",
        "[[load the signature list once the release job is done]]",
    ],
)
def test_what_stands_around_an_asserted_passage_leaves_it_certain(marked):
    assert given(marked).doubt == ""


def test_a_passage_keeps_the_mark_of_the_code_that_ends_it():
    assert given("from now on [[release every tarball with `make sign`]]").content == "release every tarball with `make sign`"
    assert given("[[`make sign` comes before every tarball upload]]").content == "`make sign` comes before every tarball upload"


@each_case(
    ("prompt", "takes_back"),
    [
        ("Scratch that, we do not.", True),
        ("Never mind.", True),
        ("No wait, we use make deploy.", True),
        ("Forget what I said about that.", True),
        ("hm no, scrap that, leave it as it is.", True),
        ("no, forget that last bit about the mirror", True),
        ("hm wait, scratch that last part, both mirrors stay", True),
        ("I changed my mind about the mirror, we stay.", True),
        ("can you scrap that page", False),
        ("Vergiss das wieder.", True),
        ("算了。", True),
        ("我忘了密码，算了一下时间", False),
        ("The date in the header is wrong, fix it.", False),
        ("Never mind the failing test, go on.", False),
        ("Now undo that last edit.", False),
        ("Please ignore that warning in the log.", False),
        ("Das Datum ist falsch.", False),
    ],
)
def test_the_next_prompt_takes_a_telling_back_by_a_clause_of_its_own(prompt, takes_back):
    assert assertion.is_retraction(prompt) is takes_back


@each_case(
    ("prompt", "denies"),
    [
        ("nah dont, that got old fast", True),
        ("no don’t", True),
        ("no dont rename it, move it", False),
        ("不，用另一个", True),
        ("这次先不要重启", False),
        ("いや、違う", True),
        ("それはいや、でも進めて", False),
        ("нет, иначе", True),
        ("у нас нет, иначе", False),
        ("«No, we stay.»", True),
    ],
)
def test_a_denial_opens_a_sentence_in_any_script(prompt, denies):
    assert assertion.is_denial(prompt) is denies
