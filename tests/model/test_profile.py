"""Which profile remembers what, and what a category is called among several profiles."""

from kept.profiles.profile import Category, Profile, Use, choose, kind_of, read_kind, title_of


def profile(name: str, *categories: str) -> Profile:
    made = tuple(Category(id=each, title=each.capitalize(), belongs="", excludes="") for each in categories)
    return Profile(id=name, title=name.upper(), summary="", categories=made)


CODING, VAULT, OWN = profile("coding", "decision", "goal"), profile("vault", "goal"), profile("own", "mood")
ALL = (CODING, VAULT, OWN)


def test_the_first_rule_that_fits_source_and_project_decides_which_profile_remembers():
    uses = [
        Use(profile="own", sources=("claude-code",), projects=("/home/me/diary*",)),
        Use(profile="vault", projects=("/home/me/diary",)),
    ]
    assert choose(uses, ALL, "claude-code", "/home/me/diary") is OWN
    assert choose(uses, ALL, "codex", "/home/me/diary/inner") is VAULT
    assert choose(uses, ALL, "codex", "/home/me/other") is CODING


def test_without_a_rule_the_usual_profile_of_a_source_remembers_where_it_is_at_work():
    assert choose([], ALL, "vault", "/v", usual="vault") is VAULT
    assert choose([], (CODING, OWN), "vault", "/v", usual="vault") is CODING
    assert choose([Use(profile="coding", sources=("vault",))], ALL, "vault", "/v", usual="vault") is CODING


def test_a_rule_for_a_profile_that_is_not_at_work_is_passed_over():
    assert choose([Use(profile="gone")], ALL, "codex", "/x") is CODING


def test_a_category_is_named_with_its_profile():
    assert read_kind(kind_of("coding", "goal")) == ("coding", "goal")
    assert read_kind("goal") == ("", "goal")


def test_of_two_categories_with_one_title_the_second_names_its_profile():
    assert title_of(ALL, "coding", "goal") == "Goal"
    assert title_of(ALL, "vault", "goal") == "Goal (VAULT)"
    assert title_of(ALL, "own", "new_thing") == "New thing"
