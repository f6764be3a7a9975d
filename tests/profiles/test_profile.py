"""Which profile remembers what, and what a category is called among several profiles."""

from cases import each_case
from kept.profiles import check_profile, list_built_in_profiles, load_profile, parse_profile, read_profile_text
from kept.profiles.profile import Category, Profile, ProfileRule, category_title, choose_profile, format_kind, parse_kind


def profile(name: str, *categories: str) -> Profile:
    made = tuple(Category(id=each, title=each.capitalize(), belongs="", excludes="") for each in categories)
    return Profile(id=name, title=name.upper(), summary="", categories=made)


CODING, VAULT, OWN = profile("coding", "decision", "goal"), profile("vault", "goal"), profile("own", "mood")
ALL = (CODING, VAULT, OWN)


def test_the_first_rule_that_fits_source_and_project_decides_which_profile_remembers():
    uses = [
        ProfileRule(profile="own", sources=("claude-code",), projects=("/home/me/diary*",)),
        ProfileRule(profile="vault", projects=("/home/me/diary",)),
    ]
    assert choose_profile(uses, ALL, "claude-code", "/home/me/diary") is OWN
    assert choose_profile(uses, ALL, "codex", "/home/me/diary/inner") is VAULT
    assert choose_profile(uses, ALL, "codex", "/home/me/other") is CODING


def test_without_a_rule_the_usual_profile_of_a_source_remembers_where_it_is_at_work():
    assert choose_profile([], ALL, "vault", "/v", usual="vault") is VAULT
    assert choose_profile([], (CODING, OWN), "vault", "/v", usual="vault") is CODING
    assert choose_profile([ProfileRule(profile="coding", sources=("vault",))], ALL, "vault", "/v", usual="vault") is CODING


def test_a_rule_for_a_profile_that_is_not_at_work_is_passed_over():
    assert choose_profile([ProfileRule(profile="gone")], ALL, "codex", "/x") is CODING


def test_a_category_is_named_with_its_profile():
    assert parse_kind(format_kind("coding", "goal")) == ("coding", "goal")
    assert parse_kind("goal") == ("", "goal")


def test_of_two_categories_with_one_title_the_second_names_its_profile():
    assert category_title(ALL, "coding", "goal") == "Goal"
    assert category_title(ALL, "vault", "goal") == "Goal (VAULT)"
    assert category_title(ALL, "own", "new_thing") == "New thing"


@each_case("name", sorted(list_built_in_profiles()))
def test_nothing_is_wrong_with_a_profile_of_the_program(name):
    text, where = read_profile_text(name)
    assert check_profile(text) == ()
    assert load_profile(name) == parse_profile(text, where)


def test_a_profile_of_an_earlier_version_loads_though_it_names_a_setting_that_is_gone():
    text, where = read_profile_text("coding")
    assert parse_profile(text.replace("[[categories]]\n", "[[categories]]\nactionable = true\n"), where) == load_profile("coding")
