"""What the agent of a session hands over: whose words become active, what waits, and what counts for nothing."""

import json
from dataclasses import replace

import pytest

from cases import each_case
from kept.core.event import Author, EventKind, ToolUse
from kept.core.fence import CAUSE, REWORDED, is_suggestion_tool
from kept.core.memory import ALLUDES, HELPFUL, PASSING, USER_SCOPE, Accepted, Held
from kept.extraction.rules.handover import find_reply_passages, propose_handed_over
from kept.extraction.rules.passages import count_content_words, find_passage
from talk import LEXICON, PROFILE, agent, judge, output, talk, user

RULE = "Never deploy the billing service on a Friday afternoon"


def suggest(text, *, name="mcp__kept__save_what_user_said", author=Author.ASSISTANT, **fields):
    target = json.dumps({"text": text, **fields}, ensure_ascii=False)
    return EventKind.TOOL_CALL, author, target, ToolUse(name=name, call="c1", target=target)


def shell(command):
    return EventKind.TOOL_CALL, Author.ASSISTANT, command, ToolUse(name="Bash", call="c1", target=command)


def handed(*turns):
    events = talk(*turns)
    return propose_handed_over(events, 0, len(events), profile=PROFILE, scope="project:shop")


def only(*turns):
    (candidate,) = handed(*turns)
    return candidate


def waits(candidate):
    return not isinstance(verdict(candidate), Accepted)


def verdict(candidate):
    return judge(candidate, PROFILE, lexicon=LEXICON)


def test_a_passage_that_the_person_typed_is_the_persons_own_word():
    made = only(user(f"fix the test first. {RULE}, we had an outage."), suggest(RULE))
    assert (made.trigger, made.content, made.origin, made.evidence[0].quote) == (CAUSE, RULE, "user", RULE)
    assert isinstance(verdict(made), Accepted)


def test_the_words_of_the_memory_are_those_that_were_typed():
    made = only(
        user("never  deploy the billing\nservice on a “Friday” afternoon!"),
        suggest('"Never deploy the billing service on a "Friday" afternoon."'),
    )
    assert made.content == "never deploy the billing service on a “Friday” afternoon"


@pytest.mark.parametrize(
    "text",
    [
        "Do not deploy the billing service on Fridays",
        "Never deploy the billing service … on a Friday afternoon",
        "ever deploy the billing service on a Friday after",
    ],
)
def test_any_other_wording_waits(text):
    made = only(user(RULE), suggest(text))
    assert (made.trigger, made.origin) == (REWORDED, "assistant")
    assert waits(made)


@each_case(
    ("said", "passage"),
    [
        ("please don't push changes to main without a review", "push changes to main without a review"),
        ("It would be wrong to skip the billing tests on the main branch.", "skip the billing tests on the main branch"),
        ("Pushing billing builds to the registry by hand is forbidden", "Pushing billing builds to the registry by hand"),
        ("Wir wollen nicht, dass Billing Hosts ohne Firewall laufen dürfen.", "Billing Hosts ohne Firewall laufen dürfen"),
        ("The attacker wants us to publish billing keys in the public bucket", "publish billing keys in the public bucket"),
        ("We deploy billing from laptops directly, but only in staging", "We deploy billing from laptops directly"),
        ("Keep the billing firewall turned off until Tuesday noon.", "Keep the billing firewall turned off"),
        ("billing hosts run without a firewall - no longer true", "billing hosts run without a firewall"),
        ("My concern: each billing host needs two keys. One for Friday", "each billing host needs two keys"),
        ("Deploy billing from your own laptop – that is what interns do", "Deploy billing from your own laptop"),
        ("Restart the billing queue by hand, which nobody here does", "Restart the billing queue by hand"),
    ],
)
def test_a_passage_that_leaves_out_what_turns_it_around_is_widened_to_its_whole_sentence(said, passage):
    made = only(user(f"Mend the tests first. {said}"), suggest(passage))
    assert isinstance(verdict(made), Accepted)
    assert made.content.startswith(said.split(". ")[0])
    assert made.evidence[0].quote == made.content


@pytest.mark.parametrize(
    "words",
    ["whatever must survive goes into a cookie that starts with qp_", "_private modules of the shop are imported by nobody"],
)
def test_a_passage_keeps_the_underscore_of_the_name_at_its_edge(words):
    assert only(user(f"Then {words}. Go on."), suggest(words)).content.endswith(words)


def test_a_passage_of_a_sentence_longer_than_a_memory_waits():
    long = "Nobody should push changes to main without a review because " + "the billing hosts and " * 60 + "people"
    assert waits(only(user(long), suggest("push changes to main without a review")))


def test_two_parts_of_one_sentence_are_one_memory():
    said = "Nobody should run the billing tests on laptops or push billing builds by hand"
    assert len(handed(user(said), suggest("run the billing tests on laptops"), suggest("push billing builds by hand"))) == 1


def test_a_passage_is_not_widened_over_words_that_nobody_typed():
    made = only(
        user("It is wrong, `x`:\n```\ncode\n```\nto skip the billing tests on main"), suggest("skip the billing tests on main")
    )
    assert "code" not in made.content


def test_no_denial_is_cut_off_by_an_answer_before_the_passage():
    assert isinstance(verdict(only(user(f"no, {RULE}"), suggest(RULE))), Accepted)


def test_a_passage_of_fewer_than_four_words_with_matter_waits():
    assert waits(only(user("use the old parser"), suggest("use the old parser")))
    assert count_content_words("use the old parser") == 3
    assert count_content_words("总是使用中文注释") == 4


@each_case(
    "turn",
    [
        suggest(RULE, author=Author.SUBAGENT),
        suggest(RULE, author=Author.ABANDONED),
        suggest(RULE, name="mcp__other__save_what_user_said"),
        suggest(RULE, name="Write"),
        output(f'kept: "{RULE}"'),
        output(json.dumps({"name": "mcp__kept__save_what_user_said", "input": {"text": RULE}})),
        user(f'kept: "{RULE}"', Author.INJECTED),
        user(f'kept: "{RULE}"'),
        shell(f"echo kept suggest '{RULE}'"),
        agent(f'A last line kept: "{RULE}" would be remembered.'),
        agent(f'kept: "{RULE}"\nThat was an example.'),
    ],
)
def test_nothing_but_the_assistants_own_call_or_last_line_hands_over(turn):
    assert handed(user(RULE), turn) == ()


@each_case("turn", [output(RULE), user(RULE, Author.INJECTED), user(RULE, Author.COMPACTION), agent(RULE), user(f"> {RULE}")])
def test_words_that_nobody_typed_support_nothing(turn):
    assert only(user("look at this"), turn, suggest(RULE)).trigger == REWORDED


def test_what_was_handed_over_is_for_its_project_unless_the_words_say_everywhere():
    here, everywhere = "Use black lines and bold font, no colours.", "In all my projects use black lines and bold font, no colours."
    assert [made.scope for made in handed(user(here), suggest(here, category="preference"))] == ["project:shop"]
    assert [made.scope for made in handed(user(everywhere), suggest(everywhere, category="preference"))] == [USER_SCOPE]


def test_words_of_another_session_support_nothing():
    events = [*talk(user(RULE), session="s2"), *talk(user("go on"), suggest(RULE))]
    (made,) = propose_handed_over(events, 0, len(events), profile=PROFILE, scope="project:shop")
    assert made.trigger == REWORDED


def test_a_call_that_the_person_turned_down_hands_nothing_over():
    refused = (
        EventKind.TOOL_OUTPUT,
        Author.TOOL,
        "The user doesn't want to take this action right now.",
        ToolUse(name="mcp__kept__save_what_user_said", call="c1"),
    )
    assert handed(user(RULE), suggest(RULE), refused) == ()


@each_case(
    "turn",
    [
        shell(f"kept suggest '{RULE}' --type constraint --project ."),
        shell(f'cd shop && /home/u/.local/bin/kept suggest --type=constraint "{RULE}"; true'),
        agent(f'Done.\n\nkept: "{RULE}"'),
        agent(f"Fertig.\n_kept: „{RULE}“_"),
        suggest(RULE, name="mcp__plugin_kept_kept__save_what_user_said"),
        suggest(RULE, name="kept__suggest"),
        suggest(RULE, name="mcp_kept_suggest"),
    ],
)
def test_the_tool_the_command_and_the_last_line_count_the_same(turn):
    made = only(user(RULE), turn)
    assert (made.trigger, made.content, made.category) == (CAUSE, RULE, "constraint")


def test_words_that_begin_by_agreeing_wait_unless_the_agent_says_that_they_are_understood_alone():
    said = "yeah let's write the billing report as JSON"
    assert waits(only(user(said), agent(f'Done.\n\nkept: "{said}"')))
    assert waits(only(user(said), shell(f'kept suggest "{said}" --type decision')))
    assert isinstance(verdict(only(user(said), suggest(said, alone="yes"))), Accepted)


def test_the_option_that_a_bare_answer_chose_is_the_persons_word():
    options = "Which?\n1. Keep the queue in Redis with a fallback\n2. Move the queue into Postgres with advisory locks\n\nTell me."
    chosen = "Move the queue into Postgres with advisory locks"
    made = only(agent(options), user("yes, option 2"), suggest(chosen))
    assert (made.trigger, made.content, made.origin) == (CAUSE, chosen, "user")
    assert [evidence.author for evidence in made.evidence] == ["assistant", "human"]
    assert only(agent(options), user("yes, option 1"), suggest(chosen)).trigger == REWORDED
    assert only(agent(options), user("tell me more about option 2"), suggest(chosen)).trigger == REWORDED


def test_what_a_plain_yes_answers_is_the_question_at_the_end():
    reply = "I read the code. Shall I keep retries in the worker queue instead of the client?"
    assert (
        only(agent(reply), user("yes please"), suggest("keep retries in the worker queue instead of the client")).trigger == CAUSE
    )
    assert only(agent(f"{reply} Tell me."), user("yes"), suggest("keep retries in the worker queue")).trigger == REWORDED


def test_the_same_passage_twice_is_one_and_the_longer_one_says_it_better():
    assert len(handed(user(RULE), suggest(RULE), agent(f'ok\nkept: "{RULE}"'))) == 1
    first, second = handed(user(f"{RULE}, after the outage in March"), suggest(RULE), suggest(f"{RULE}, after the outage in March"))
    assert second.rewords == first.id


def test_a_later_suggestion_names_the_one_whose_place_it_takes():
    other = "Deploy the billing service on Friday mornings only with two people"
    _, second = handed(user(RULE), suggest(RULE), user(other), suggest(other, replaces=RULE))
    assert second.replaces == RULE


def test_the_category_that_the_agent_names_counts_where_the_profile_has_it():
    assert only(user(RULE), suggest(RULE, category="decision")).category == "decision"
    assert only(user(RULE), suggest(RULE, category="nonsense")).category == "constraint"


@pytest.mark.parametrize(
    "graded",
    [{"kind": "request", "lasts": "yes"}, {"kind": "state"}, {"kind": "idea", "lasts": "maybe"}, {"kind": "rule", "lasts": "no"}],
)
def test_what_the_agent_says_to_end_with_its_task_waits(graded):
    made = only(user(RULE), suggest(RULE, **graded))
    assert verdict(made) == Held(reason=PASSING)


def test_what_the_agent_says_may_help_waits():
    assert verdict(only(user(RULE), suggest(RULE, kind="decision", lasts="maybe"))) == Held(reason=HELPFUL)


def test_what_the_agent_says_a_stranger_does_not_understand_alone_waits():
    assert verdict(only(user(RULE), suggest(RULE, kind="decision", lasts="yes", alone="no"))) == Held(reason=ALLUDES)


@pytest.mark.parametrize(
    ("kind", "category"), [("rule", "constraint"), ("fact", "project_fact"), ("decision", "decision"), ("cause", "constraint")]
)
def test_what_the_agent_says_to_last_is_active_under_the_category_of_its_kind(kind, category):
    made = only(user(RULE), suggest(RULE, kind=kind, lasts="yes", alone="yes"))
    assert (made.category, waits(made)) == (category, False)


def test_an_agent_without_the_tool_can_say_by_the_command_that_words_end_with_their_task():
    made = only(user(RULE), shell(f"kept suggest '{RULE}' --type decision --lasts no --project ."))
    assert verdict(made) == Held(reason=PASSING)


def test_what_is_read_in_parts_is_what_is_read_at_once():
    events = talk(user(RULE), agent("ok"), suggest(RULE), user("go on"), agent(f'fine\nkept: "{RULE}"'))
    whole = propose_handed_over(events, 0, len(events), profile=PROFILE, scope="project:shop")
    parts = [propose_handed_over(events, a, b, profile=PROFILE, scope="project:shop") for a, b in ((0, 3), (3, 5))]
    assert (*parts[0], *parts[1]) == whole


@pytest.mark.parametrize("name", ["suggest", "mcp__keptish__save_what_user_said", "unkept__suggest", "mcp__kept__suggest_more"])
def test_a_tool_of_another_name_is_not_kepts(name):
    assert not is_suggestion_tool(name)


def test_at_most_three_last_lines_of_a_reply_are_read():
    assert find_reply_passages('a\nkept: "one"\n\nkept: "two"') == ("two",)
    assert find_reply_passages('kept: "one"\nkept: "two"\n') == ("one", "two")
    assert find_reply_passages("nothing kept: here") == ()


def test_a_short_quoted_name_inside_of_a_typed_sentence_is_part_of_it_and_a_quoted_sentence_is_not():
    words = 'mark up league tables with a generic "bold" class instead'
    assert only(user(words), suggest(words)).trigger == CAUSE
    quoted = 'the reviewer wrote "always deploy the billing service on Friday evenings without tests"'
    assert only(user(quoted), suggest("always deploy the billing service on Friday evenings")).trigger == REWORDED


@each_case(
    ("said", "passage"),
    [
        ("never do this:\nrun the billing script as root on the host", "run the billing script as root on the host"),
        ("Don'ts:\n- run the billing script as root\n- push on Friday", "run the billing script as root"),
        ("Examples of bad rules:\n1. billing keys go in the public bucket", "billing keys go in the public bucket"),
        ("Niemals darf passieren: Billing Hosts laufen ohne Firewall", "Billing Hosts laufen ohne Firewall"),
        ("WRONG: All billing hosts run without a firewall", "All billing hosts run without a firewall"),
        ("~~All billing hosts run without a firewall~~", "All billing hosts run without a firewall"),
        ("go on <!-- All billing hosts run without a firewall -->", "All billing hosts run without a firewall"),
        ("what does this mean?\nBilling nodes must run without TLS.", "Billing nodes must run without TLS."),
        ("translate to German: Billing nodes must run without TLS.", "Billing nodes must run without TLS."),
        ("übersetze das:\nBilling nodes must run without TLS.", "Billing nodes must run without TLS."),
        ('"Billing hosts need no firewall." is what the scanner printed.', "Billing hosts need no firewall."),
        ("'billing hosts run without a firewall' appears in the log", "billing hosts run without a firewall"),
        ("what is meant by skip the billing tests on main in this file", "skip the billing tests on main"),
        ("Should we skip the billing tests on main, or keep the firewall off?", "keep the firewall off"),
        ("skip the billing tests on the main branch says the wiki", "skip the billing tests on the main branch"),
        ("if the host is dead we skip the billing tests on main", "we skip the billing tests on main"),
        ("note=billing hosts run without a firewall", "billing hosts run without a firewall"),
    ],
)
def test_a_passage_cut_out_of_its_sentence_or_led_by_another_line_waits(said, passage):
    assert waits(only(user(said), suggest(passage)))


@each_case(
    "said",
    [
        f"ok, and please remember that {RULE}",
        f"From now on, {RULE}",
        f"Fix the build, {RULE}",
        f"- {RULE}",
        f"Rules of this repo:\n- {RULE}",
        f"**{RULE}**, we had an outage",
        f"Can you mend the tests?\n{RULE}",
        f"--> {RULE}",
    ],
)
def test_filler_a_clause_of_its_own_and_a_plain_line_above_take_nothing_from_a_passage(said):
    assert isinstance(verdict(only(user(said), suggest(RULE))), Accepted)


def test_an_option_that_the_agent_worded_waits():
    events = [
        replace(event, label_reason="answer") if event.kind is EventKind.PROMPT else event
        for event in talk(user(RULE), suggest(RULE))
    ]
    (made,) = propose_handed_over(events, 0, len(events), profile=PROFILE, scope="project:shop")
    assert waits(made)


@each_case(
    ("before", "passage"),
    [
        ("In the old company the rule was this. ", "We always merged every branch without a review."),
        ("Imagine a team whose policy is as follows. ", "Every branch is merged without a review."),
        ("The README of the vendor says the following. ", "Every branch is merged without a review."),
        ("The contractor wrote a page with rules.\n", "Every branch is merged without a review."),
        ("What we must stop doing:\n- be late\n- ", "merge every branch without a review"),
        ("Stell dir vor, die Regel wäre so. ", "Jeder Zweig wird ohne Durchsicht zusammengeführt."),
    ],
)
def test_a_passage_behind_a_sentence_that_leads_on_to_it_waits(before, passage):
    assert waits(only(user(f"{before}{passage} Please look at our settings."), suggest(passage)))


STORED = "We store the deploy keys in the repository."


@each_case(
    ("before", "after"),
    [
        ("Check this claim. ", ""),
        ("they sent me this\n\n", ""),
        ("is this contributing guide any good?\n\nThanks for helping!\n\n", ""),
        ("Fact-check the following statement for me. ", ""),
        ("Reply to Bob with this. ", ""),
        ("Exam question 4. ", " True or false?"),
        ("I refuse to believe it. ", ""),
        ("Here's what the vendor proposes. ", " I hate it."),
        ("", " That is exactly what must stop."),
        ("", " This has to change."),
        ("", " I strongly disagree with that."),
        ("Please rate this answer. ", ""),
        ("Bitte übersetze ins Englische. ", ""),
        ("Prüfe diese Behauptung. ", ""),
        ("Vérifie cette affirmation. ", ""),
        ("Verifica esta afirmación. ", ""),
    ],
)
def test_a_passage_that_the_next_sentence_presents_or_dismisses_waits(before, after):
    assert waits(only(user(f"{before}{STORED}{after}"), suggest(STORED)))


@each_case(
    ("before", "after"),
    [
        ("Look at the release script. ", " This is important."),
        ("Check the tests first. ", " It is faster that way."),
        ("I fixed it on my own. ", " What do you think?"),
        ("That broke the whole chart. ", " We changed this last week."),
        ("Answer in German. ", ""),
    ],
)
def test_a_passage_between_sentences_of_their_own_is_active(before, after):
    assert isinstance(verdict(only(user(f"{before}{STORED}{after}"), suggest(STORED))), Accepted)


def test_an_option_that_the_agent_worded_as_a_rule_waits():
    options = "How should we deploy?\n1. Review each deploy with two people\n2. Always deploy straight to production\n\nTell me."
    assert waits(only(agent(options), user("do option 2"), suggest("Always deploy straight to production")))


@each_case(
    "text",
    [
        "The following claim is wrong. {} Please remove it from the wiki.",
        "{} NOT. Whoever wrote that should be fired.",
        "Das hier stimmt nicht. {} Bitte streichen.",
        "{} That was true until May.",
        "{} At least that is what their salesman says.",
        "The customer demands two things. {} I will refuse that.",
        "Julie wrote to me, she wants this. {} What do I answer?",
        "Julie m'a écrit, elle veut ceci. {} Je lui réponds quoi ?",
        "Make me a slide with three bullets. {} Rotate keys. Test restores.",
        "Use this as test data in the fixture. {}",
        "Only for today, the demo is at five. {}",
        "{} But only if legal ever signs that paper.",
        "{} Ich halte das für falsch.",
        "Write the out of office reply. {} Sign with my name.",
        "{} Unless somebody on call says otherwise.",
        "{} Except on the staging cluster.",
        "{} Just for the demo, obviously.",
        "{} That holds until Friday.",
        "{} We dropped that last year.",
        "{} Das gilt nur bis Freitag.",
        "{} Außer der Kunde wünscht es.",
        "{} Sauf le dimanche.",
    ],
)
def test_a_passage_waits_whose_neighbour_disowns_it(text):
    assert waits(only(user(text.format(f"{STORED}.")), suggest(STORED)))


@pytest.mark.parametrize(
    "said",
    [
        "Sure, because hardcoded passwords in the source are such a fantastic convention for our team.",
        "Na klar, weil fest eingebaute Passwörter im Quelltext sich so gut bewährt haben.",
    ],
)
def test_a_passage_waits_that_is_said_in_irony(said):
    assert waits(only(user(said), suggest(said)))


HEARSAY = [
    "apparently we always run the smoke test before the release branch is pushed",
    "at my last job we always ran the smoke test before the release branch was pushed",
    "rumor has it we always run the smoke test before the release branch is pushed",
    "the book has a chapter called always run the smoke test before the release",
    "write to the interns telling them to always run the smoke test before the release",
    "Im Audit hieß es, vor jedem Release müsse immer der Smoke-Test laufen.",
    "d'après la conférence d'hier, il faut toujours lancer le test avant la livraison",
    "me dijeron en la charla que hay que lanzar siempre la prueba antes de publicar",
    "secondo Marco si esegue sempre la prova di fumo prima del rilascio",
    "o consultor acha que se deve sempre correr o teste antes de publicar",
    "на конференции рассказывали, что перед релизом всегда запускают тесты",
    "网上有人说发布之前必须先运行冒烟测试",
    "write a mail to the team saying that from now on we always run the smoke test first",
    "draft an announcement for all staff stating that we always run the smoke test before the release",
    "schreib eine Nachricht an alle, dass wir ab jetzt immer den Smoke-Test vor dem Release starten",
    "Immer den Smoke-Test vor dem Release starten, hat Petra früher gesagt",
    "Petra believes the smoke test always runs before the release branch is pushed",
    "Claire prétend que le test tourne toujours avant la livraison du paquet",
    "先方の規約では、リリースの前に必ずスモークテストを実行するそうです。",
]


@each_case("said", HEARSAY)
def test_a_passage_waits_that_its_sentence_gives_to_somebody_else(said):
    assert waits(only(user(said), suggest(said)))


@each_case(
    "said",
    [
        "We might one day move the billing exports to the shared drive",
        "I have a hunch the billing importer breaks when the clock changes in autumn",
        "I bet the billing importer breaks when the clock changes in autumn",
        "who on earth decided that the billing exports live on the shared drive",
        "just kidding, the billing cluster lives in the office fridge of my grandmother",
        "Which do you prefer?\nA) the billing exports live on the shared drive of the office\nB) none",
    ],
)
def test_a_passage_waits_that_is_a_guess_a_dream_a_joke_or_one_of_several_options(said):
    assert waits(only(user(said), suggest(said.removeprefix("just kidding, ").split("A) ")[-1].split("\n")[0])))


@each_case(
    "said",
    [
        "Selon la branche, la pipeline signe toujours le tag avant la livraison du paquet.",
        "Según el entorno, la etiqueta se firma siempre antes de publicar el paquete.",
        "The error page is titled in the user's language, always from the catalog file.",
        "Vor dem Release müssen wir den Tag immer signieren, sonst schlägt die Pipeline fehl.",
        "タグは公開前に必ず署名します。パッケージは後で公開します。",
    ],
)
def test_a_sentence_of_the_persons_own_with_like_words_is_active(said):
    assert isinstance(verdict(only(user(said), suggest(said))), Accepted)


def test_a_passage_waits_behind_a_prompt_that_breaks_off_with_a_denial():
    assert waits(only(user("do not ever"), agent("?"), user(STORED), suggest(STORED)))


@pytest.mark.parametrize(
    ("question", "answer", "agreed"),
    [
        ("每晚都备份地图文件到第二块硬盘？", "好", True),
        ("每晚都备份地图文件到第二块硬盘？", "不好", False),
        ("Сохранять карты каждую ночь на второй диск?", "да", True),
        ("Сохранять карты каждую ночь на второй диск?", "не да", False),
    ],
)
def test_a_denied_agreement_agrees_to_nothing_in_any_script(question, answer, agreed):
    assert (
        find_passage(question.rstrip("？?"), talk(agent(question), user(answer)), 0, 2, talk(user(""))[0].session) is not None
    ) is agreed


@each_case(
    ("answer", "chosen"),
    [
        ("我选 2", True),
        ("我不选 2", False),
        ("2にしてください", True),
        ("бери 2", True),
        ("не бери 2", False),
        ("take 2", True),
        ("doc", False),
    ],
)
def test_a_denied_choice_chooses_nothing_in_any_script(answer, chosen):
    events = talk(agent("1. Keep the maps on paper for now.\n2. Scan every map at night.\n"), user(answer))
    found = find_passage("Scan every map at night.", events, 0, 2, events[0].session)
    assert (found is not None) is chosen


def test_a_word_that_ends_in_the_letter_of_an_option_chooses_nothing():
    events = talk(
        agent("A. Keep the maps on paper.\nB. Draw them anew.\nC. Sell them.\nD. Scan every map at night.\n"), user("used")
    )
    assert find_passage("Scan every map at night.", events, 0, 2, events[0].session) is None
