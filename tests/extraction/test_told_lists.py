"""What a person tells in a list, on the next line, or in the middle of a sentence becomes memory, without the words around it."""

from cases import each_case
from kept.core.memory import Accepted, Held
from kept.extraction.gate import judge
from kept.extraction.rules.candidates import extract_candidates
from kept.profiles import load_profile
from kept.profiles.lexicons import load_lexicon
from talk import talk, user


def read(text, language="en"):
    """What one prompt brings: whether it is active, its passage and its subject."""
    words, rules = load_lexicon((language,)), load_profile("coding")
    made = extract_candidates(talk(user(text)), 0, 1, profile=rules, lexicon=words, scope="project:harbour")
    states = {Accepted: True, Held: False}
    verdicts = ((states.get(type(judge(each, rules, lexicon=words))), each.content, each.about) for each in made)
    return [each for each in verdicts if each[0] is not None]


@each_case(
    ("language", "prompt", "passage"),
    [
        ("en", "the crane is rented until June, remember that and order the ropes", "the crane is rented until June"),
        ("en", "we say berth not slot, please keep that in mind, and can you fix the map?", "we say berth not slot"),
        ("en", "The gate opens at seven. Remember this for next time, and then close the form.", "The gate opens at seven."),
        ("de", "der Kran heißt intern Otto, merk dir das bitte, und mach dann den Plan fertig", "der Kran heißt intern Otto"),
        ("fr", "le quai s'appelle Nord, retiens ça et corrige la carte", "le quai s'appelle Nord"),
        ("es", "el muelle se llama Norte, recuérdalo para la próxima, y ahora arregla el mapa", "el muelle se llama Norte"),
        ("it", "il molo si chiama Nord, ricorda questo e correggi la mappa", "il molo si chiama Nord"),
        ("pt", "o cais chama-se Norte, lembre-se disso e corrige o mapa", "o cais chama-se Norte"),
        ("ru", "причал называется Север, запомни это, и потом исправь карту", "причал называется Север"),
    ],
)
def test_an_order_of_the_moment_after_remember_that_is_no_part_of_the_passage(language, prompt, passage):
    assert [passage] == [content for _, content, _ in read(prompt, language)]


@each_case(
    "prompt",
    [
        "the crane stays until June, remember that, and never load it on Sundays",
        "the crane stays until June, remember that, the ropes are new as well",
        "Remember that and order the ropes",
    ],
)
def test_where_the_passage_of_remember_that_is_unclear_the_whole_sentence_waits(prompt):
    assert read(prompt) == [(False, prompt, "")]


def test_what_an_application_is_to_remember_is_not_active():
    assert not any(active for active, _, _ in read("the guest picks a berth, remember it and show the map"))


@each_case(
    ("language", "line", "items"),
    [
        ("en", "remember these two things", ["the crane is rented until June", "ropes are changed every spring"]),
        ("en", "From now on:", ["ask before you order ropes", "write the log in English"]),
        ("en", "new rules for this repo", ["no barrel files anywhere", "tests stand next to the code"]),
        ("de", "merk dir bitte folgendes:", ["der Kran ist bis Juni gemietet", "freitags wird nichts geladen"]),
        ("de", "Ab sofort gilt:", ["frag vor jeder Bestellung", "schreib die Logs auf Englisch"]),
        ("de", "Regeln für dieses Projekt:", ["keine globalen Variablen mehr", "die Tests stehen neben dem Code"]),
        ("fr", "retiens ce qui suit :", ["la grue est louée en juin", "le vendredi on ne charge rien"]),
        ("es", "recuerda lo siguiente:", ["la grúa está alquilada hasta junio", "los viernes no cargamos nada"]),
        ("es", "A partir de ahora:", ["firma cada pedido antes", "no cargues nada los viernes"]),
        ("it", "ricorda quanto segue:", ["la gru è affittata fino a giugno", "il venerdì non carichiamo nulla"]),
        ("pt", "lembre-se do seguinte:", ["o guindaste fica até junho", "à sexta não carregamos nada"]),
        ("ru", "запомни следующее:", ["кран арендован до июня", "по пятницам ничего не грузим"]),
        ("zh", "记住以下几点：", ["吊车租到六月底为止", "星期五不装任何货物"]),
    ],
)
def test_each_item_below_a_line_that_announces_it_is_a_memory_about_that_line(language, line, items):
    made = read("\n".join((line, *(f"- {item}" for item in items))), language)
    assert [(active, content) for active, content, _ in made] == [(True, item) for item in items]
    assert {about for _, _, about in made} <= {line.rstrip(" :："), ""}


def test_an_item_of_two_sentences_is_one_memory_about_the_line_above_and_what_follows_the_list_is_none():
    points = "Remember these points about the harbour:\n- berth 4 is shallow. Never send a tanker there\n- the crane is new"
    text = f"Looks good. {points}\n\nNow fix the map."
    line = "Remember these points about the harbour"
    made = [("berth 4 is shallow. Never send a tanker there", line), ("the crane is new", line)]
    assert [(content, about) for _, content, about in read(text)] == made


def test_the_line_below_from_now_on_is_active_and_a_further_one_waits():
    made = read("from now on:\nask before you order ropes\nand log every order")
    assert [(active, content) for active, content, _ in made] == [
        (True, "ask before you order ropes"),
        (False, "and log every order"),
    ]


@each_case(
    "prompt",
    [
        "please do these things:\n1. order new ropes\n2. paint the crane",
        "add these rules for this repo:\n- no unused ropes\n- no default exports",
        "build a harbour game.\nRules:\n- every player has three ships\n- a ship sinks after two hits",
        "which rules for this repo:\n- always use tabs\n- always use spaces",
        "remember those faults from yesterday:\n- the crane stops at noon\n- the map is empty",
        "In the future:\n- support for tide tables\n- a dark mode for the map",
        "write a poster. From now on:\n- no food on the pier\n- shoes off at the door",
        "from now on please",
    ],
)
def test_a_list_of_tasks_options_plans_or_of_a_text_to_write_is_not_active(prompt):
    assert not any(active for active, _, _ in read(prompt))
