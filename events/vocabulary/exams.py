"""Exams, and what is asked again: a run's log says how each ended, and a separate log has the answers."""

from typing import ClassVar

from mage_es.events.facts.event import Event, Part, SubjectText
from mage_es.events.vocabulary.marks import Digest
from mage_es.events.vocabulary.parts import LearnedSubjectText


class ExamOpened(Event, frozen=True, kw_only=True, tag="exam.opened"):
    """An exam of a frozen state begins: it is in the run's log, so that no exam is missed, and comes first in the
    exam's own log."""

    stream: ClassVar[str] = "exam/{0.exam}"
    exam: str
    """Its name, which is its folder's: number, marker and control."""
    run_id: str
    marker: str
    """Marker that names the state."""
    head_seq: int
    """seq up to which the run's log was folded."""
    control: str
    """Control condition of the exam: `none`, `shuffled`, `permuted` or `bare`."""
    execution: str
    """Model that answers."""
    judge: str
    """Model that decides where the rule cannot; empty for none."""
    asked: int
    """Number of questions."""
    asked_sha256: str
    """SHA-256 of their ids."""
    digests: tuple[Digest, ...]
    # As in `run.started`, at the time of the exam.
    package_version: str = ""
    package_sha256: str = ""
    """SHA-256 of the package's modules and prompts."""
    scorer_sha256: str = ""
    """SHA-256 of the file of a scorer from outside the package; empty for its own, or without a source file."""
    probes_sha256: str = ""
    """SHA-256 of the scorer's verdicts on fixed replies; empty if the scoring rule is not the package's."""


class ExamClosed(Event, frozen=True, kw_only=True, tag="exam.closed"):
    """An exam's result, in the run's log. `familiar` are questions whose phrasing family also occurs in evolution."""

    stream: ClassVar[str] = "exam/{0.exam}"
    correct: int
    """Questions answered right."""
    total: int
    """Number of questions, including unanswered but not undecided ones."""
    # Separate, so that gains on known phrasings cannot pass for generalisation.
    familiar_correct: int
    """Familiar questions answered right."""
    familiar_total: int
    """Number of familiar questions."""
    unanswered: int = 0
    """Questions whose call failed permanently, so that they have no answer."""
    undecided: int = 0
    """Questions whose answers are neither right nor wrong, which `total` leaves out."""
    # What follows is empty for a baseline: its answers are in this very log.
    exam: str = ""
    """Name of the exam."""
    head_seq: int = 0
    """Last seq of the exam's own log."""
    head_chain: str = ""
    """Chain value there, which vouches for every answer."""
    root: str = ""
    """Root of the Merkle tree over the same events, 64 hexadecimal digits: it proves a single answer."""


class Rejudged(Part, frozen=True, kw_only=True):
    """What another scorer says about a recorded answer."""

    question_id: str
    score_micro: int
    correct: bool
    """Whether the answer is right by this scorer."""


class ExamRejudged(Event, frozen=True, kw_only=True, tag="exam.rejudged"):
    """An exam's recorded replies were scored again after the scorer had changed; the old verdicts stay.

    From here on the new verdicts are compared with exams by the same scorer.
    """

    stream: ClassVar[str] = "exam/{0.exam}"
    exam: str
    """Name of the exam."""
    correct: int
    """Questions answered right by this scorer."""
    total: int
    """Number of questions, including unanswered but not undecided ones."""
    verdicts: tuple[Rejudged, ...]
    """Every answer that was decided, in the order of the ids."""
    package_version: str
    package_sha256: str
    """SHA-256 of the package's modules and prompts."""
    scorer_sha256: str
    """SHA-256 of the file of a scorer from outside the package; empty for its own, or without a source file."""
    probes_sha256: str
    """SHA-256 of the scorer's verdicts on fixed replies; empty if the scoring rule is not the package's."""


class AskedWithout(Part, frozen=True, kw_only=True):
    """Answers to questions that saw some memories, compared with those to the same prompts without them."""

    memories: tuple[str, ...]
    """Ids of the memories that were left out, as far as a prompt showed them."""
    pairs: int
    """Questions with both answers decided, each as it was last asked with the memories."""
    won: int
    """Pairs in which only the answer with the memories is right."""
    lost: int
    """Pairs in which only the answer without them is right."""


class AnswerFlipped(Part, frozen=True, kw_only=True):
    """The answer to a question changes from one state of the run to the next, and from one prompt to the next."""

    question_id: str
    before: str
    """Marker of the last state before it."""
    after: str
    """Marker of the first state after it."""
    memory_id: str
    """Memory that only one of the two prompts shows; empty if no memory flips it."""
    prompt_before: SubjectText
    """SHA-256 of the last prompt before the flip; empty for an answer without one."""
    prompt_after: SubjectText
    """SHA-256 of the first prompt after it."""


class AnswersRejudged(Part, frozen=True, kw_only=True):
    """Recorded answers, judged once more by a model, beside the verdicts on record."""

    judge: str
    """Model that judged them."""
    exam: str
    """Name of the exam; empty for the questions that the run learned from, and for those of a baseline."""
    total: int
    """Number of answers, including questions without one."""
    right: int
    """Answers that were right on record."""
    now: int
    """Answers that are right according to this model; what it said nothing readable about is not."""


class ReaskingBegun(Event, frozen=True, kw_only=True, tag="reasking.begun"):
    """Questions will be asked again, outside the run, in a separate log. The run's own log and the separate one both
    have this event before anything that is asked, so that what is asked is missed if it is removed."""

    stream: ClassVar[str] = "reasked"
    verb: str
    """Who asks: `effect`, `what-if`, `bisect`, `rejudge` or `gepa`."""
    head_seq: int
    """Last seq of the separate log before it."""
    head_chain: str
    """Chain value there."""


class QuestionsReasked(Event, frozen=True, kw_only=True, tag="questions.reasked"):
    """Questions were asked again, outside the run, in a separate log: what that cost, and the results."""

    stream: ClassVar[str] = "reasked"
    verb: str
    """Who asked: `effect`, `what-if`, `bisect`, `rejudge` or `gepa`."""
    calls: int = 0
    """Model calls that were made since the last such event; replies on record are not among them."""
    without: tuple[AskedWithout, ...] = ()
    """The results for memories, from everything that was ever asked again."""
    flips: tuple[AnswerFlipped, ...] = ()
    """The result for a question."""
    judged: tuple[AnswersRejudged, ...] = ()
    """The result for answers that were judged again."""
    head_seq: int = 0
    """Last seq of the log of what was asked again."""
    head_chain: str = ""
    """Chain value there, which vouches for every answer."""


class NoteWritten(Event, frozen=True, kw_only=True, tag="note.written"):
    """What the writer of a learning method wrote after a question."""

    # What the method makes of it follows from the log; the text is here so that it can be searched for guarded
    # questions.
    stream: ClassVar[str] = "note/{0.memory_id}"
    memory_id: str
    """Name of the note, under which it may be refused."""
    question_id: str
    text: LearnedSubjectText
    """The text as it was written."""


class BaselineStarted(Event, frozen=True, kw_only=True, tag="baseline.started"):
    """A run that learns nothing: one way of prompting answers the held-out questions, for comparison."""

    stream: ClassVar[str] = "baseline/{0.baseline}"
    baseline: str
    """Name of the way of prompting."""
    samples: int
    """Answers that were counted as votes."""
    rounds: int
    """How often an answer was revised."""
    shots: tuple[str, ...]
    """Ids of the evolution questions whose worked solutions are in every prompt, in order."""
    # Such a baseline sees the answers, so its result is an upper bound and has to be marked as one.
    oracle_stop: bool
    """Whether the gold answer decided when to stop revising."""
    learned: tuple[str, ...] = ()
    """Ids of the evolution questions that a learning method is shown before the held-out ones, in order."""
    budget_tokens: int = 0
    """Tokens after which it stops learning; 0: no limit."""
    questions: int = 0
    """Number of held-out questions that it answers after that; 0 for a method that learns nothing, since its plans
    exist from the start."""
