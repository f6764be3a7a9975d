"""A lexicon: the words by which a language shows what a sentence does. Data alone; where it comes from is not known here.

Every cue field is the source of one case-insensitive RE2 pattern whose last group is the cue itself; the empty string never matches.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Lexicon:
    """The cues of one or more languages.

    At the start of a sentence: ``opener`` (chatter before the point), ``request`` ("could we"), ``task`` (verbs of a step of the
    moment), ``agreement``, ``refusal``, ``question``, ``correction_start``, ``rule_start``, ``denial``. At its end: ``tag`` (", right?").
    Anywhere: ``verdict`` ("is not correct"), ``technical`` (nouns of the
    trade), what the sentence does (``correction``, ``constraint``, ``practice``, ``choice``, ``versus``, ``decision``, ``preference``, ``fact``,
    ``goal``, ``generaliser``, ``reason``) and what speaks against remembering it (``hedge``, ``hypothetical``, ``transient``, ``chatter``,
    ``report`` of what was just done, ``vague`` objects, ``pointer`` to the sentence before, ``joint`` words between clauses, ``listed`` those at the end of a point of a list, ``memory_talk``, ``agent_talk``, ``profanity``; ``expletive`` is swearing that can be
    left out). About whole passages: ``person`` (a speaker is there), ``review`` (a reviewer's
    voice), ``pasted`` (announces something pasted). In the assistant's text: ``proposal``, ``offer``. ``deictic`` is a
    subject that points outside the sentence, ``filler`` a word that says nothing. ``finite`` tells a noun at the start from an order, ``forbids`` a practice from a ban, ``duty`` opens one in the second person and ``ban``
    a negative one, ``recurring`` says how often, ``relative`` ties a clause
    to a noun, ``conditional`` opens a rule with its case,
    ``imperative`` is a verb that orders or rules, ``stated`` announces a rule, ``assurance`` opens an order ("make sure"), which ``ensures`` is anywhere, ``article`` comes before what an order is about and ``part`` after it ("of", "for"),
    ``widely`` what makes an order a rule when it follows; ``hard`` and ``soft`` are the strengths of rules, ``craft`` what work on
    a project is made of (tests, commits), ``defect`` tells of something broken, ``concession`` opens an answer that grants a point, ``confirms`` one
    that says that what was said is so.
    ``dangling`` points at something said elsewhere unless it is part of ``anchored`` words; ``switched`` tells the state of a thing that only one word names, ``pronoun`` needs a noun before it,
    ``plural_pronoun`` one of ``plural_noun``; ``seeming`` words put a statement to another for approval, ``pondered`` tells of what is only being
    thought about, ``finished`` opens a line that only reports work done;
    ``chooser`` opens a recommendation; ``passed_on`` marks a report on the user in the third person; ``trailing`` opens a clause
    at the end that only complains. In the assistant's text: ``cause_label`` and ``remedy_label`` head what was wrong and what mends it,
    ``mends`` opens what it will do next, ``lack`` says what something does not do, ``own_slip`` a mistake of its own. ``relief`` is a
    person's "that's it", ``wonder`` opens their question why something is wrong.
    ``possible`` says what others may do, which is no doubt of the speaker; ``elaborates`` opens a sentence that goes on with the one before;
    ``symptom`` comes before what is seen when something is wrong, ``cause_told`` tells a cause; ``its_doing`` is a "this" of
    which something is said, ``checking`` opens an order to look things over, ``so_that`` what they shall be like. ``errand`` opens an order for a ticket or a document. ``retracts`` takes back what the assistant ``did``;
    ``unsettled`` opens a question that is left for ``yet`` another time; ``question_word`` opens an indirect question; ``evermore`` makes an order a rule; ``of_its_time`` is what a lesson of one step of the work speaks of, ``infers`` draws a conclusion from what was just seen, ``judges`` opens a judgement ("the cleanest way is") and ``weighs`` it against another, ``past_never`` tells what did not happen so far, which is no rule; ``stated_goal`` calls a goal by its name. ``recommended`` marks an option as the one the assistant would take, ``carries_out`` opens an order to do what stands beside it, ``beforehand`` ends an offer to do something first and
    ``afterwards`` opens what shall follow it. ``this_is`` says of what kind something is, ``flag_noun`` and ``file_noun`` are such kinds; ``behaves`` tells a limit or a default of something. ``upkeep`` opens an order to keep something up ("keep a log"), ``but`` opens what limits the sentence before it, ``whether`` an indirect question. ``option`` names a pick from a list, ``favours`` stands before or behind the mark of the one that is picked. ``announced`` opens a decision told as one ("we decided").
    Of people: ``identity``, ``person_said``, ``taste``, ``stack`` and ``aim`` are what somebody says of themselves, of others, of what they like,
    work with and want; ``wish`` is a like that only asks for something. Of notes: ``predicate`` is a verb as a whole sentence has it, ``lesson``, ``insight``, ``noted_decision``, ``noted_rule``,
    ``noted_question`` and ``people_noted`` are labels and headings that say what stands under them, ``chose``, ``learnt`` and ``ruled``
    do so inside of a sentence, ``generic`` opens a heading that fits any day.
    ``slots`` are (name, pattern) of what a person has one of at a time, a group ``what`` telling which; ``themes`` are (name, pattern) of
    what preferences are about.
    ``softer`` replaces swearing that carries meaning: (pattern source, words). ``phrases`` are the few words that kept itself adds, by name, in the first language.
    """

    languages: tuple[str, ...] = ()
    opener: str = ""
    request: str = ""
    task: str = ""
    agreement: str = ""
    announced: str = ""
    refusal: str = ""
    question: str = ""
    verdict: str = ""
    technical: str = ""
    correction_start: str = ""
    joint: str = ""
    listed: str = ""
    rule_start: str = ""
    denial: str = ""
    tag: str = ""
    correction: str = ""
    constraint: str = ""
    practice: str = ""
    choice: str = ""
    versus: str = ""
    decision: str = ""
    preference: str = ""
    fact: str = ""
    goal: str = ""
    generaliser: str = ""
    reason: str = ""
    hedge: str = ""
    hypothetical: str = ""
    transient: str = ""
    chatter: str = ""
    memory_talk: str = ""
    agent_talk: str = ""
    profanity: str = ""
    expletive: str = ""
    report: str = ""
    vague: str = ""
    pointer: str = ""
    person: str = ""
    review: str = ""
    pasted: str = ""
    proposal: str = ""
    offer: str = ""
    deictic: str = ""
    filler: str = ""
    option: str = ""
    favours: str = ""
    assurance: str = ""
    ensures: str = ""
    article: str = ""
    part: str = ""
    duty: str = ""
    ban: str = ""
    recurring: str = ""
    relative: str = ""
    conditional: str = ""
    imperative: str = ""
    stated: str = ""
    finite: str = ""
    forbids: str = ""
    widely: str = ""
    hard: str = ""
    soft: str = ""
    craft: str = ""
    defect: str = ""
    concession: str = ""
    confirms: str = ""
    dangling: str = ""
    switched: str = ""
    anchored: str = ""
    pronoun: str = ""
    plural_pronoun: str = ""
    plural_noun: str = ""
    seeming: str = ""
    pondered: str = ""
    finished: str = ""
    chooser: str = ""
    passed_on: str = ""
    trailing: str = ""
    possible: str = ""
    elaborates: str = ""
    errand: str = ""
    retracts: str = ""
    did: str = ""
    unsettled: str = ""
    yet: str = ""
    evermore: str = ""
    past_never: str = ""
    of_its_time: str = ""
    infers: str = ""
    judges: str = ""
    weighs: str = ""
    question_word: str = ""
    stated_goal: str = ""
    its_doing: str = ""
    checking: str = ""
    so_that: str = ""
    recommended: str = ""
    carries_out: str = ""
    beforehand: str = ""
    afterwards: str = ""
    but: str = ""
    upkeep: str = ""
    behaves: str = ""
    this_is: str = ""
    flag_noun: str = ""
    file_noun: str = ""
    whether: str = ""
    symptom: str = ""
    cause_told: str = ""
    actionable: str = ""
    cause_label: str = ""
    remedy_label: str = ""
    mends: str = ""
    lack: str = ""
    own_slip: str = ""
    relief: str = ""
    wonder: str = ""
    identity: str = ""
    person_said: str = ""
    taste: str = ""
    stack: str = ""
    aim: str = ""
    wish: str = ""
    predicate: str = ""
    lesson: str = ""
    insight: str = ""
    noted_decision: str = ""
    noted_rule: str = ""
    noted_question: str = ""
    people_noted: str = ""
    chose: str = ""
    learnt: str = ""
    ruled: str = ""
    generic: str = ""
    slots: tuple[tuple[str, str], ...] = field(default=())
    themes: tuple[tuple[str, str], ...] = field(default=())
    softer: tuple[tuple[str, str], ...] = field(default=())
    phrases: tuple[tuple[str, str], ...] = field(default=())

    def phrase(self, name: str) -> str:
        """The words kept adds under that name; empty where the language has none."""
        return dict(self.phrases).get(name, "")
