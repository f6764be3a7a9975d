"""``kept profiles`` as a person uses it."""

from cli_world import kept, told
from kept import profiles
from kept.profiles.profile import CARD_CAP


def test_the_profiles_are_listed_with_what_each_is_for(capsys, home):
    listed = {each["id"]: each for each in told(capsys, "profiles", "list")}
    assert set(listed) == {"coding", "companion", "journal", "vault", "workspace"}
    assert [name for name, each in listed.items() if each["used"]] == ["coding"]
    assert all(each["summary"] for each in listed.values())


def test_showing_a_profile_says_everything_about_each_category(capsys, home):
    code, out, _ = kept(capsys, "profiles", "show", "vault")
    assert code == 0
    for words in ("Identity", "belongs", "such as", "confidence 0.7", "written by machine, agent, person", "extracted: nightly"):
        assert words in out


def test_every_built_in_profile_is_whole_and_documented():
    for name in profiles.list_profiles():
        assert profiles.check_profile(profiles.read_profile_text(name)[0]) == ()
        made = profiles.load_profile(name)
        for each in made.categories:
            assert each.belongs
            assert each.examples
            assert each.consolidation


def test_a_profile_of_ones_own_is_a_copy_that_works_at_once(capsys, home):
    assert kept(capsys, "profiles", "new", "mine", "--like", "companion")[0] == 0
    assert kept(capsys, "profiles", "show", "mine")[0] == 0
    assert profiles.load_profile("mine", home / ".config" / "kept" / "profiles").id == "mine"
    assert kept(capsys, "profiles", "new", "mine")[0] == 2
    assert kept(capsys, "status", "--profile", "mine")[0] == 0


def test_every_mistake_in_a_profile_is_told_with_its_setting_and_what_is_allowed(capsys, home):
    kept(capsys, "profiles", "new", "mine", "--like", "workspace")
    path = home / ".config" / "kept" / "profiles" / "mine.toml"
    text = path.read_text().replace('shape = "dossier"', 'shape = "pile"').replace("floor = 0.65", "flor = 0.65")
    path.write_text(text.replace("card_chars = 14000", "card_chars = true"))
    code, _, err = kept(capsys, "profiles", "show", "mine")
    assert code == 2
    assert "(and 2 more)" in err
    mistakes = {each.setting: each for each in profiles.check_profile(path.read_text())}
    assert mistakes["categories[people].shape"][1:] == ("cannot be 'pile'", "one of: fact, dossier, collection, theme")
    assert mistakes["categories[people].flor"].fault == "unknown setting; did you mean floor?"
    assert mistakes["outputs.card_chars"].fault == "a whole number was expected, not true"
    path.write_text(
        path.read_text().replace('"pile"', '"dossier"').replace("flor", "floor").replace("card_chars = true", "card_chars = 99999")
    )
    assert profiles.check_profile(path.read_text()) == (("outputs.card_chars", "cannot be 99999", f"1 to {CARD_CAP}"),)


def test_what_is_of_the_right_kind_and_still_cannot_be_is_told_too():
    text = profiles.read_profile_text("vault")[0]
    for before, after, setting in (
        ('identity = "identity"', 'idendity = "identity"', "intents.idendity"),
        ('goal = "goals"', 'goal = "dreams"', "intents.goal"),
        ("floor = 0.7", "floor = 7", "categories[identity].floor"),
        ("nightly = true", "nightly = false", "when.nightly"),
        ('memory_file = ".claude/rules/memory.md"', 'memory_file = "../memory.md"', "outputs.memory_file"),
        ("memory_bytes = 24000", "memory_bytes = 60000", "outputs.memory_bytes"),
        ('id = "goals"', 'id = "identity"', "categories"),
    ):
        assert setting in [each.setting for each in profiles.check_profile(text.replace(before, after))]


def test_a_broken_profile_of_ones_own_hides_no_other(capsys, home):
    kept(capsys, "profiles", "new", "mine")
    (home / ".config" / "kept" / "profiles" / "mine.toml").write_text("id = 3")
    listed = {each["id"]: each for each in told(capsys, "profiles")}
    assert "problem" in listed["mine"]
    assert "title" in listed["coding"]


def test_migrating_moves_memories_by_the_mapping_shown_and_can_be_undone(capsys, home):
    kept(capsys, "add", "Sail at noon from now on.", "--type", "decision")
    kept(capsys, "add", "Keep answers short, please.", "--type", "preference")
    kept(capsys, "config", "set", "profiles", "vault")
    before = told(capsys, "list")
    dry = told(capsys, "profiles", "migrate", "coding", "vault", "--dry-run")
    assert dry["mapping"]["decision"] == "project_context"
    assert told(capsys, "list") == before
    done = told(capsys, "profiles", "migrate", "coding", "vault", "--map", "preference=insights")
    assert done["moved"] == {"decision": 1, "preference": 1}
    after = {(each["profile"], each["category"], each["content"]) for each in told(capsys, "list")}
    assert after == {
        ("vault", "project_context", "Sail at noon from now on."),
        ("vault", "insights", "Keep answers short, please."),
    }
    assert kept(capsys, "check")[0] == 0
    assert kept(capsys, "undo")[0] == 0
    assert {each["profile"] for each in told(capsys, "list")} == {"coding"}


def test_migrating_to_a_profile_that_is_not_at_work_says_how_to_put_it_there(capsys, home):
    code, _, err = kept(capsys, "profiles", "migrate", "coding", "vault")
    assert code == 2
    assert "kept config set profiles vault" in err


def test_nobody_can_be_asked_about_what_is_surer_than_what_needs_no_person(capsys, home):
    kept(capsys, "profiles", "new", "mine", "--like", "coding")
    path = home / ".config" / "kept" / "profiles" / "mine.toml"
    path.write_text(path.read_text().replace("review = 0.75", "review = 0.95"))
    allowed = "0 to the floor: held candidates below this confidence are refused"
    assert profiles.check_profile(path.read_text()) == (("categories[insight].review", "cannot be 0.95", allowed),)
