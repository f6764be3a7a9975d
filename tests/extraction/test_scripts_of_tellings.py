"""Telling patterns of languages in other scripts are only searched where their letters are."""

from re import _constants as codes
from re import _parser as parser

from cases import each_case
from kept.extraction.rules.patterns import _NOT_LATIN_LETTER, NOT_LATIN
from kept.profiles.lexicons import _TELL, _read_lexicon


def needs_letter(parts):
    """True if a parsed pattern matches no text without a letter that is not Latin."""
    for code, value in parts:
        if code is codes.LITERAL and _NOT_LATIN_LETTER.match(chr(value)):
            return True
        if code is codes.IN and all(each is codes.LITERAL and _NOT_LATIN_LETTER.match(chr(char)) for each, char in value):
            return True
        if code is codes.BRANCH and all(map(needs_letter, value[1])):
            return True
        if code is codes.SUBPATTERN and needs_letter(value[3]):
            return True
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and value[0] and needs_letter(value[2]):
            return True
    return False


@each_case("language", NOT_LATIN)
def test_each_word_that_is_searched_in_all_languages_needs_a_letter_of_its_script(language):
    table = _read_lexicon(language)["telling"]
    cues = [cue for name in (*_TELL, "wish", "person", "reason") for cue in table.get(name, ())]
    assert cues
    assert [cue for cue in cues if not needs_letter(parser.parse(cue.replace(r"\pL", r"\w")))] == []
