"""A lexicon: the words by which a language shows what a sentence does. Data alone; where it comes from is not known here.

Every cue field is the source of one case-insensitive RE2 pattern whose last group is the cue itself; the empty string never
matches.
"""

from kept.core.value import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class TellingPatterns:
    """How a person tells an assistant what to remember, in one language. Every pattern holds one group: the words it is about.

    At the start of a sentence: ``lead`` (filler before a telling), ``request`` ("can you"), ``remember`` (a memory verb) and
    behind it ``link`` ("that"), ``goes_on`` ("to") or ``reminisce`` ("when": no telling); ``always`` and ``never`` (orders),
    ``no_ban`` ("never mind"), ``refuse`` (an order not to remember), ``describes`` (the subject of a description),
    ``decided``, ``correction``, ``note``, ``reported`` (another's words), ``person`` (the speaker). At its end:
    ``remember_this``, and behind a memory verb ``tail`` ("that, please"). Before a colon: ``label`` ("a rule to keep in
    mind"). Anywhere: ``from_now_on``, ``later`` ("next time"), ``lasting`` (it is for later), ``must`` (who must, always or
    never), ``ours`` ("we always"), ``here`` (a rule of this project), ``everywhere``, ``practice`` (the work of any agent),
    ``contrast`` ("…, never …"), ``reason``, ``occasion`` (holds once), ``planned`` (thought of for the task at hand),
    ``errand`` (an order to note work, or to put something on a list), ``withdraws`` (what was told in an earlier session holds no
    more; its inner group, or what stands behind it, names what was told), ``taken_back`` (it was not meant, or is another's),
    ``preference``, ``goal``, ``kin`` (people in the speaker's life), ``rule``, ``convention``, ``wish`` (words of a standing
    wish) and ``outside`` (words for what another sentence names). ``measured`` says that somebody measured how well the
    patterns of this language tell, ``words`` is any word of a telling; ``spaced`` says that words are written apart.
    """

    language: str
    spaced: bool
    measured: bool
    words: str
    lead: str = ""
    request: str = ""
    remember: str = ""
    link: str = ""
    goes_on: str = ""
    reminisce: str = ""
    remember_this: str = ""
    tail: str = ""
    from_now_on: str = ""
    later: str = ""
    lasting: str = ""
    always: str = ""
    never: str = ""
    no_ban: str = ""
    must: str = ""
    ours: str = ""
    here: str = ""
    everywhere: str = ""
    practice: str = ""
    contrast: str = ""
    describes: str = ""
    decided: str = ""
    reason: str = ""
    correction: str = ""
    note: str = ""
    label: str = ""
    errand: str = ""
    withdraws: str = ""
    occasion: str = ""
    planned: str = ""
    refuse: str = ""
    taken_back: str = ""
    reported: str = ""
    person: str = ""
    preference: str = ""
    goal: str = ""
    kin: str = ""
    rule: str = ""
    convention: str = ""
    wish: str = ""
    outside: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lexicon:
    """The words of one or several languages: ``agreement`` opens an answer that agrees, ``agent_talk`` speaks of the assistant
    itself, ``tellings`` is how every language there is tells what to remember.
    """

    languages: tuple[str, ...] = ()
    agreement: str = ""
    agent_talk: str = ""
    tellings: tuple[TellingPatterns, ...] = ()

    @property
    def spoken(self) -> tuple[TellingPatterns, ...]:
        """How the languages of the lexicon tell what to remember."""
        return tuple(telling for telling in self.tellings if telling.language in self.languages)
