"""What a sentence points at: the kind of a flag, a place that is found afterwards."""

import pytest
from talk import active, agent, user

DONE = agent("I registered the options and wrote their help texts.")


def test_a_kind_that_is_told_of_this_is_told_of_the_only_flag_of_the_prompt():
    said = user("let's not allow -q and --tenants at once\n\nno on point 2, this is an internal flag for our own scripts")
    assert "`--tenants` is an internal flag for our own scripts." in active(DONE, said)


@pytest.mark.parametrize(
    "words",
    [
        "--tenants and --region cannot be combined\n\nthis is an internal flag for our own scripts",
        "this is an internal flag",
    ],
)
def test_with_two_flags_or_none_nothing_is_guessed(words):
    assert not [each for each in active(DONE, user(words)) if "internal" in each]


LOOKED = agent("There is no deploy script in the repo, so I'd start from scratch.")
SAID = user("umm yes there is... the repo is the parent, and the deploy scripts are stored there.")


def test_a_correction_without_a_name_is_told_with_the_place_that_the_assistant_then_finds():
    seen = agent("Found it. The repo root is `/srv/shop/web` and it has a `deploy.sh`.")
    assert active(user("how do we deploy?"), LOOKED, SAID, seen) == [
        "The repo is the parent (`/srv/shop/web`), and the deploy scripts are stored in it."
    ]


@pytest.mark.parametrize(
    "seen", ["Found it. I also read `../notes/readme.md`.", "The repo root is `/srv/a`. No, the repo is in `/srv/b`."]
)
def test_a_place_that_is_not_said_of_the_same_thing_or_not_of_one_alone_is_not_taken(seen):
    assert active(user("how do we deploy?"), LOOKED, SAID, agent(seen)) == []
