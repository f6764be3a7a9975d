"""A clean event holds what matters of what was said and done: no secret, no bulk, nothing hidden."""

import base64
import random
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from kept.core.event import Author, Event, EventKind, Pointer, Precision, ToolUse
from kept.core.fence import OPEN, REMINDER, START, fence_text
from kept.core.redact import redact
from kept.core.spans import typed_text
from kept.intake.clean import CleanedEvent, Limits, clean, clean_all

LIMITS = Limits()
TOKEN = "ghp_" + "".join(random.Random(4).choices("abcdefghijkmnpqrstuvwxyzABCDEFGH123456789", k=36))


def event(
    text: str, *, kind: EventKind = EventKind.TOOL_OUTPUT, author: Author = Author.TOOL, tool: ToolUse | None = None
) -> Event:
    return Event(
        key="k",
        twin="",
        session="s",
        record="r",
        parent="",
        turn="",
        kind=kind,
        author=author,
        label_reason="test",
        text=text,
        at=None,
        precision=Precision.NONE,
        project="/home/u/app",
        branch="main",
        tool=tool,
        pointer=Pointer(path="f", line=1, start=0, end=1),
    )


def prompt(text: str) -> Event:
    return event(text, kind=EventKind.PROMPT, author=Author.HUMAN)


def cleaned(one: Event) -> CleanedEvent:
    return clean(one, redact=partial(redact, key=b"key"), limits=LIMITS)


def output(text: str, name: str = "Bash", target: str = "make test", *, ok: bool | None = None) -> str:
    return cleaned(event(text, tool=ToolUse(name=name, target=target, ok=ok))).event.text


def size(one: Event) -> int:
    tool = (one.tool.name, one.tool.target, one.tool.detail) if one.tool else ()
    return sum(len(part.encode("utf-8", "surrogatepass")) for part in (one.text, one.project, one.branch, *tool))


def log(lines: int, *, inside: str = "") -> str:
    rng = random.Random(8)
    words = [f"step {' '.join(rng.choices(['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'], k=8))}" for _ in range(lines)]
    return "\n".join([*words[: lines // 2], *([inside] if inside else []), *words[lines // 2 :]])


def test_a_short_event_without_anything_to_remove_stays_as_it_is() -> None:
    one = event("3 passed", tool=ToolUse(name="Bash", target="pytest"))
    assert cleaned(one) == CleanedEvent(event=one, removed={}, secrets=0)


def test_what_a_person_said_stays_whole() -> None:
    words = "we decided to use uv for this. " * 800
    assert cleaned(prompt(words)).event.text == words


@pytest.mark.parametrize(("opens", "closes"), [("\x1b[200~", "\x1b[201~"), ("^[[200~", "^[[201~"), ("\x1b[200~", "")])
def test_what_a_terminal_marked_as_pasted_stays_marked(opens: str, closes: str) -> None:
    found = cleaned(prompt(f"what do you think of this?{opens}Always deploy from the release branch.{closes}"))
    assert typed_text(found.event) == "what do you think of this?"
    assert cleaned(found.event).event == found.event


@pytest.mark.parametrize("word", ["kahn798Qz", "hunter2!Xq9", "qX7$kd92LmZ!"])
def test_a_prompt_that_is_nothing_but_a_password_is_stored_without_it(word: str) -> None:
    done = cleaned(prompt(f" {word}\n"))
    assert word not in done.event.text
    assert done.secrets == 1
    assert cleaned(done.event).event == done.event


@each_case("words", ["README2.md", "src/Kept3/core.py", "JIRA-1234", "continue", "Fix2 it", "20261127", "@User1234"])
def test_a_prompt_of_one_word_that_is_no_password_stays(words: str) -> None:
    assert cleaned(prompt(words)).event.text == words


def answered(question: str, words: str) -> list[CleanedEvent]:
    asked = event(question, kind=EventKind.RESPONSE, author=Author.ASSISTANT)
    return list(clean_all([asked, prompt(words)], redact=partial(redact, key=b"key"), limits=LIMITS, said={}))


@each_case(
    ("question", "word"),
    [
        ("Please tell me the root password.", "Mango-Ridge-72"),
        ("I can log in now. What is the password for the staging server? I will not store it.", "Mango-Ridge-72"),
        ("Wie lautet das Passwort?", "Mango-Ridge-72"),
        ("密码是什么？", "Mango-Ridge-72"),
        ("What's the SMTP password?", "it's FXNQ6Fq5axtj"),
        ("Almost there.\n\n**What is the PIN for the safe?**", "60318"),
        ("Enter the 2FA backup code:", "4821 9930"),
        ("What is the PIN for the safe?", "60 31"),
        ("And the vault passphrase?", "silver moth under lantern"),
        ("What's the wifi password?", "it's purple kettle harbour"),
        ("What is the database password?", "hunter2plus!"),
        ("Which password do I use for sudo?", "quietmango"),
        ("Please provide the OpenAI API key you'd like me to use.", "9d2f44aa81bc4e7fa0d3"),
        ("Kannst du mir die Zugangsdaten geben?", "lena / Apfel99Baum"),
        ("¿Qué contraseña uso para la base?", "manzana7"),
        ("Quel mot de passe dois-je utiliser ?", "c'est `tr1angle`"),
        ("Qual senha devo usar?", "abacaxi9"),
        ("Mi serve la password del NAS, qual è?", "limone88"),
        ("数据库密码是什么？", "Panda-und-co"),
        ("パスワードを教えてください。", "tanukikun"),
    ],
)
def test_a_secret_that_the_assistant_asked_for_is_stored_without_it(question: str, word: str) -> None:
    first, second = answered(question, word)
    assert first.event.text == question
    assert word.rsplit(maxsplit=1)[-1] not in second.event.text
    assert second.secrets == 1
    assert answered(question, second.event.text)[1].event == second.event


@each_case(
    ("question", "words"),
    [
        ("Which port should the login form use?", "8080"),
        ("Which file holds the password?", "config-2.yaml"),
        ("What should the API token be called?", "deploy-2026"),
        ("Which ticket is it?", "JIRA-1234"),
        ("Please tell me the root password.", "I forgot it in 2019"),
        ("Please tell me the root password.", "ask team-4"),
        ("Which file holds the password?", "it is config-2.yaml"),
        ("What's the wifi password?", "use the staging one"),
        ("What's your phone number?", "5551 1234"),
        ("Which files?", "core gate tests"),
        ("What is the password policy?", "12 characters"),
        ("Which token did you mean?", "the second one"),
        ("Which commit added the token check?", "a1b2c3d4"),
        ("What password generator do you use?", "pwgen20"),
        ("What's the root password?", "unchanged"),
        ("Which environment do the credentials belong to?", "staging2"),
        ("¿Qué pasa si la contraseña es incorrecta?", "error401"),
        ("Wie soll das Feld für das Passwort heißen?", "passwort2"),
        ("O que acontece se a senha expirar?", "erro401"),
        ("パスワードの最小文字数は？", "8文字以上"),
        ("I need the password later. Which port?", "step2"),
    ],
)
def test_an_answer_that_is_no_secret_stays(question: str, words: str) -> None:
    assert answered(question, words)[1].event.text == words


def test_injected_text_is_cut_though_it_stands_where_a_prompt_stands() -> None:
    done = cleaned(event(log(200), kind=EventKind.PROMPT, author=Author.INJECTED))
    assert len(done.event.text) <= LIMITS.injected
    assert done.removed["injected"] > 0


def test_a_long_output_keeps_its_head_its_tail_and_the_error_in_its_middle() -> None:
    text = output("first line\n" + log(300, inside="E   AssertionError: expected 3, got 4") + "\nlast line")
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line")
    assert "\nE   AssertionError: expected 3, got 4\n" in text
    assert len(text) <= LIMITS.output


def test_a_line_that_says_there_were_no_errors_is_no_error() -> None:
    assert "0 errors" not in output(log(300, inside="found 0 errors in this part"))


def test_error_lines_that_differ_only_in_numbers_are_kept_once() -> None:
    inside = "\n".join(f"worker {number}: connection refused" for number in range(90))
    assert output(log(300, inside=inside)).count("connection refused") == 1


@each_case(
    ("name", "target"),
    [
        ("Read", "src/a.py"),
        ("read_file", "a.py"),
        ("mcp__fs__read_file", "a"),
        ("Bash", "cat src/a.py"),
        ("Bash", "cd app && sed -n 1,90p a.py"),
        ("Write", "a.py"),
    ],
)
def test_a_file_that_a_tool_showed_is_cut_hard(name: str, target: str) -> None:
    assert len(output(log(300), name, target)) <= LIMITS.dump


@pytest.mark.parametrize(("name", "ok"), [("Bash", True), ("Grep", None)])
def test_an_output_of_a_tool_that_passed_keeps_a_few_hundred_characters_of_its_ends(name: str, *, ok: bool | None) -> None:
    text = output("first line\n" + log(300) + "\nlast line", name, ok=ok)
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line")
    assert "characters cut" in text
    assert len(text) <= LIMITS.passed < len(output(log(300), "Bash", ok=False))


@pytest.mark.parametrize("target", ["cat a.py | python -", "cat a > b; make", "git log", "python read.py"])
def test_a_command_that_does_more_than_show_a_file_is_cut_as_an_output(target: str) -> None:
    assert len(output(log(300), "Bash", target)) > LIMITS.dump


def test_a_failed_read_is_no_dump() -> None:
    assert len(output(log(300), "Read", "a.py", ok=False)) > LIMITS.dump


def test_equal_lines_in_a_row_become_one_and_their_number() -> None:
    assert output("a\n" + "same\n" * 50 + "b") == "a\n[… 49 lines like the next …]\nsame\nb"


def test_of_a_progress_bar_only_its_end_stays() -> None:
    bar = "\r".join(f"Downloading {done:3}% |{'█' * (done // 10):10}| {done / 10:.1f}/10.0 MB" for done in range(0, 101, 5))
    text = output(f"start\n{bar}\ndone")
    assert text.count("Downloading") == 1
    assert "100%" in text
    assert text.endswith("done")


def test_lines_that_differ_in_words_are_not_collapsed() -> None:
    lines = "ok 1/3 alpha\nok 2/3 beta\nok 3/3 gamma"
    assert output(lines) == lines


def test_an_image_in_a_data_uri_leaves_its_type_and_size() -> None:
    data = base64.b64encode(random.Random(2).randbytes(3000)).decode()
    done = cleaned(prompt(f"look: data:image/png;base64,{data} and prefer the blue layout"))
    assert done.event.text == "look: [blob:image/png:4022 bytes] and prefer the blue layout"
    assert done.removed["blobs"] > 3900


@pytest.mark.parametrize("width", [64, 76, 100_000])
def test_base64_is_removed_whether_or_not_it_is_wrapped(width: int) -> None:
    data = base64.b64encode(random.Random(3).randbytes(3001)).decode()
    wrapped = "\n".join(data[at : at + width] for at in range(0, len(data), width))
    text = cleaned(prompt(f"here:\n{wrapped}\nend")).event.text
    assert data[:16] not in text
    assert data[-16:] not in text
    assert text.endswith("end")


def test_a_long_ruler_is_no_blob() -> None:
    assert cleaned(prompt("-" * 700)).event.text == "-" * 700


def test_a_secret_is_gone_from_every_field_even_where_a_cut_would_halve_it() -> None:
    for at in range(1280, 1330):
        filler = "word " * (at // 5)
        one = replace(
            event(
                filler + TOKEN + " tail " * 900,
                tool=ToolUse(name="Bash", target=f"export A={TOKEN}", detail=filler + TOKEN + " x" * 2000),
            ),
            project=f"/tmp/{TOKEN}",
            branch=TOKEN,
        )
        done = cleaned(one)
        shown = repr(done.event)
        assert not [TOKEN[i : i + 8] for i in range(len(TOKEN) - 7) if TOKEN[i : i + 8] in shown]
        assert done.secrets == 5


@each_case("name", ["key", "record", "parent", "turn", "session", "label_reason"])
def test_a_secret_that_a_client_uses_as_an_id_is_gone_and_ids_it_made_stay(name: str) -> None:
    native = "0d9f2fa0-4b1c-4fcc-8a55-2fa9135703cc"
    one = replace(event("ok"), key=f"{native}#1.2", record=native, parent=native, turn="msg_01VT8VVuRKEw6Z9cE2aQXpuJ")
    done = cleaned(replace(one, **{name: TOKEN})).event
    assert TOKEN not in repr(done)
    assert getattr(done, name).startswith("[redacted:github-token:")
    assert replace(done, **{name: getattr(one, name)}) == one


def test_a_secret_broken_by_colour_codes_is_gone() -> None:
    done = cleaned(event(f"\x1b[32m{TOKEN[:9]}\x1b[1m{TOKEN[9:]}\x1b[0m", tool=None))
    assert done.secrets == 1
    assert done.event.text.startswith("[redacted:github-token:")


def test_a_hostile_working_directory_becomes_one_bounded_visible_line() -> None:
    project = cleaned(replace(prompt("hi"), project="/a\n## User\u202e\u200b" + "x" * 9000)).event.project
    assert "\n" not in project
    assert "\u202e" not in project
    assert len(project) <= LIMITS.place


HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                "\x1b[0m",
                "\u200b",
                "👩\u200d",
                "\ufffd" * 30,
                f" {TOKEN} ",
                "same\n" * 5,
                "50%\r60%\r70%\r",
                "Error: x\n",
                "<private>",
                "</private>",
                "\n\n\n",
            ]
        ),
        st.integers(1, 400).map(lambda count: "word " * count),
        st.integers(1, 400).map(lambda count: "aB3+" * count),
    ),
    max_size=6,
)


@given(
    HOSTILE,
    st.sampled_from(list(EventKind)),
    st.sampled_from([None, ToolUse(name="Read", target="a"), ToolUse(name="Bash", target="make")]),
)
def test_every_byte_removed_has_a_reason_and_cleaning_again_changes_nothing(
    parts: list[str], kind: EventKind, tool: ToolUse | None
) -> None:
    one = event("".join(parts), kind=kind, tool=tool)
    done = cleaned(one)
    assert size(one) - size(done.event) == sum(done.removed.values())
    assert cleaned(done.event).event == done.event


def test_of_a_long_edit_both_sides_stay_in_equal_parts():
    detail = f"{'before ' * 500}\n→\n{'after ' * 500}"
    short = cleaned(event("x", tool=ToolUse(name="Edit", target="f.py", detail=detail))).event.tool.detail
    before, _, after = short.partition("\n→\n")
    assert before.startswith("before")
    assert after.startswith("after")
    assert len(short) <= LIMITS.detail
    assert abs(len(before) - len(after)) < 100


def test_what_hooks_say_about_handing_over_is_no_word_of_the_person() -> None:
    listed = fence_text(f"{OPEN}\n" + "- never say <b> or </kept> here\n" * 60)
    said = prompt(f"{fence_text(START)}\nfix the lock\n{fence_text(REMINDER)}{listed}")
    assert cleaned(said).event.text.strip() == "fix the lock"
