"""The opening of a run (iteration -1): configuration, splits, ontology."""

from typing import ClassVar, Literal

from mage_es.events.facts.event import Event, Part, SubjectText
from mage_es.events.vocabulary.marks import Digest
from mage_es.events.vocabulary.parts import LearnedSubjectText, LearnedText

RegisteredMetric = Literal["accuracy", "score", "strict"]


class ColumnRole(Part, frozen=True, kw_only=True):
    """The role of a column in the user's own tasks."""

    role: str
    """Its role, such as question, answer or task_type."""
    name: str
    """The column, or "" if no column has the role."""


class Template(Part, frozen=True, kw_only=True):
    """The fixed words of one kind of prompt."""

    name: str
    wording: str
    """Its words; `{{...}}` is filled in for each benchmark."""


class RunStarted(Event, frozen=True, kw_only=True, tag="run.started"):
    """The run's configuration and everything else that fixes its behaviour; the first event of every run."""

    run_id: str
    benchmark: str
    """Its name."""
    seed: int
    """Seed of the run's random choices."""
    # As text, so that a new setting changes no event type.
    config: str
    config_sha256: str
    """SHA-256 of the configuration."""
    package_version: str
    execution_model: str
    """Model that answers questions."""
    guidance_model: str
    """Model that writes memories, principles and plans."""
    embedder: str
    """Its name."""
    embedder_dimension: int
    """Length of its vectors."""
    # Identified by its vectors, because a served model may change behind its name.
    embedder_sha256: str
    """SHA-256 of its vectors of some fixed texts, which identifies it."""
    task_type_source: str
    """Where task types come from."""
    data_sha256: str
    """SHA-256 of the data set."""
    licence: str
    """Licence of the data set."""
    guidance_room: int = 0
    """How many tokens of a prompt the guidance model's server has room for; 0 if it did not say."""
    is_type_asked: bool = False
    """Whether a question's text says what type it is."""
    columns: tuple[ColumnRole, ...] = ()
    """Every role in the user's own tasks, with its column; empty for a benchmark."""
    # So that what scored an answer and rendered its prompt can be distinguished from what is installed later.
    package_sha256: str = ""
    """SHA-256 of the package's modules and prompts."""
    scorer_sha256: str = ""
    """SHA-256 of the file of a scorer from outside the package; empty for the package's own, or one without a source
    file."""
    probes_sha256: str = ""
    """SHA-256 of the scorer's verdicts on fixed replies; empty if the scoring rule is not the package's."""
    templates: tuple[Template, ...] = ()
    """The templates of its prompts."""


class RunInherited(Event, frozen=True, kw_only=True, tag="run.inherited"):
    """What another run had learned when it closed an iteration; the second event of a run that continues from there."""

    events: int
    """How many of the events that it begins with follow this one: for a merge all; otherwise none, they are in its
    past."""
    iteration: int
    """The parent's last closed iteration; -1 is its start. The run's own iterations begin with the next one."""
    parent: str
    """Id of the parent; for a merge, both ids. The next three fields are then empty: each `run.merged` has its own."""
    path: str
    """Where the parent was, relative to the folder of the runs; only a hint."""
    seq: int
    """Event of the parent's log up to which it was read."""
    head_seq: int
    """Last event of the parent's log when it was read."""
    head_chain: str
    """Chain value of the parent's log after that event, which `verify PARENT --head` finds again; empty in a merge."""
    # Of every projection; scores and ledger are the parent's own accounts, which this run does not continue.
    digests: tuple[Digest, ...]
    """Digest of each projection of the parent; for a merge, after the events that follow this one."""
    evolution: tuple[str, ...]
    """Ids of the questions that the parent may have learned from; they are never in an exam of this run."""
    anchors: tuple[str, ...]
    """Ids of its anchors; this run never learns from them."""
    held_out: tuple[str, ...]
    """Ids of the questions that it held out; this run never learns from them."""
    resembling: tuple[str, ...]
    """Ids of new questions that are left out of every split here, because they resemble something that the parent had
    written."""
    calls: int
    """Calls of models that the parent, with its own parents, had made."""
    usd_micro: int
    """What they cost, in millionths of a dollar; -1 if a price is unknown."""
    is_served: bool = False
    """Whether the run serves what it began with, and learns only by publishing."""
    learner: str = ""
    """Model that the parent learned with, if this run has another: measurements of the parent's model are not
    inherited."""
    reproof: int = 0
    """How many of the parent's questions are asked again in the first iteration, with and without what was learned."""


class LeftOut(Part, frozen=True, kw_only=True):
    """Something learned that a merge did not take."""

    memory_id: str
    reason: Literal["question", "origin", "kind"]
    """`question`: it is about a question that one of the runs holds back, as an anchor or for exams, or resembles one.
    `origin`: it was made from the answer to such a question, or its origin is unknown. `kind`: it is not a memory but a
    tool, a recipe or a pattern."""


class MadeOf(Part, frozen=True, kw_only=True):
    """The questions that guidance saw when it wrote a memory."""

    memory_id: str
    question_ids: tuple[str, ...]
    """Their ids, as the run that records this has them."""


class RunMerged(Event, frozen=True, kw_only=True, tag="run.merged"):
    """A run whose memories this one began with, one of two. They are on probation."""

    stream: ClassVar[str] = "merged/{0.parent}"
    parent: str
    """Its id."""
    path: str
    """Where it was, relative to the folder of the runs; only a hint."""
    iteration: int
    """Its last closed iteration; -1 is its start."""
    seq: int
    """Event of its log up to which it was read."""
    head_seq: int
    """Last event of its log when it was read."""
    head_chain: str
    """Chain value of its log after that event, which `verify RUN --head` finds again."""
    memory_ids: tuple[str, ...]
    """Ids of its memories that were taken, sorted; those that both runs had are in both events."""
    left_out: tuple[LeftOut, ...]
    """What else it had learned, by id, and why it was not taken."""
    made_of: tuple[MadeOf, ...] = ()
    """Of what guidance wrote the memories that were taken, as far as its log tells: a later merge leaves out those made
    of a question that the other run holds back, and those of which this does not tell."""


class RunRegistered(Event, frozen=True, kw_only=True, tag="run.registered"):
    """What will count as the result, committed before the first call."""

    metric: RegisteredMetric
    """What is compared: right answers, the mean score, or answers right by the strict rule."""
    questions: int
    """Number of held-out questions of the exam that counts, on the state at the end."""
    exams: int
    """How many such exams will be taken; the first one counts."""
    seeds: tuple[int, ...]
    """Seeds of the runs that are reported together, including this one's."""


class SplitCommitted(Event, frozen=True, kw_only=True, tag="split.committed"):
    """One of the three disjoint splits, as hashes: an auditor can check any memory against it without the data set."""

    stream: ClassVar[str] = "split/{0.split}"
    split: str
    size: int
    """Number of questions."""
    ids_sha256: str
    """SHA-256 of the question ids."""
    questions_sha256: str
    """SHA-256 of the normalised questions."""
    # Hashes, so that the check needs no held-out question as text.
    question_hashes: tuple[SubjectText, ...]
    """16-digit hash of each normalised question, in id order."""
    shingles: tuple[bytes, ...] = ()
    """Sorted 8-byte hashes of each question's word shingles, which reveal near-duplicates; none for evolution."""
    common_shingles: bytes = b""
    """Hashes of the shingles that are the form of a type's questions and not compared; only for evolution."""


class QuestionText(Part, frozen=True, kw_only=True):
    """The part of a question that a learner may see: a row of `questions/<sha256>.parquet`."""

    id: str
    """Its id."""
    split: str
    """Upstream split: evolution or test."""
    task_type: str
    question: SubjectText
    """Its text."""
    context: SubjectText
    """The material that comes with it; empty for none."""
    stub: SubjectText
    """Its end, if it stops where its answer belongs; else empty."""
    titles: tuple[SubjectText, ...]
    """Titles of the context's paragraphs."""
    family: str
    """Group of phrasings; empty if unknown."""


class Remark(Part, frozen=True, kw_only=True):
    """What a scorer knows about a question."""

    name: str
    text: SubjectText


class QuestionGold(Part, frozen=True, kw_only=True):
    """The part of a question that only a scorer may see: a row of `golds/<sha256>.parquet`."""

    id: str
    """Its id."""
    gold: SubjectText
    """Right answer."""
    solution: SubjectText
    """Worked solution; empty for none."""
    remarks: tuple[Remark, ...]
    """What else its scorer needs."""


class QuestionsStored(Event, frozen=True, kw_only=True, tag="questions.stored"):
    """Every question of the benchmark as it was when the run began, stored beside the log in two files."""

    # Apart, so that a copy can do without the golds.
    texts_sha256: str
    """SHA-256 of the file of texts, which is its name in questions/."""
    golds_sha256: str
    """SHA-256 of the file of gold answers, which is its name in golds/."""
    # So that what was altered or lost can be named; the files themselves are vouched for by their hashes.
    ids: tuple[str, ...]
    """Ids of the questions, in upstream order."""
    text_digests: bytes
    """8 bytes of a hash of each text, in the order of the ids."""
    # Salted: a short answer could be guessed from a plain hash.
    gold_digests: bytes
    """8 bytes of a salted hash of each gold answer, in the order of the ids."""


class SkillCreated(Event, frozen=True, kw_only=True, tag="skill.created"):
    """A capability node, with initial values of its mutable slots; no rollback masks them."""

    stream: ClassVar[str] = "skill/{0.skill}"
    skill: LearnedText
    mastery: float
    """Its mastery at first."""
    prompt_template: LearnedSubjectText
    strategy: LearnedSubjectText
    parent: str = ""
    """Skill that this one refines; empty for none."""
    description: LearnedSubjectText = ""


class TaskTypeCreated(Event, frozen=True, kw_only=True, tag="task_type.created"):
    """A task node: the filter key of every retrieval."""

    stream: ClassVar[str] = "task_type/{0.task_type}"
    task_type: LearnedText
    description: LearnedSubjectText
    # Only if the type was induced from texts: what a question is compared with to tell whether it is of this type.
    examples: tuple[str, ...] = ()
    """Ids of the evolution questions that an induced type was named for; else empty."""


class TaskTypeRetired(Event, frozen=True, kw_only=True, tag="task_type.retired"):
    """An induced task type that no question gets any more; its memories stay stored."""

    stream: ClassVar[str] = "task_type/{0.task_type}"
    task_type: str
    into: str
    """The type that it could not be distinguished from, whose retrieval now finds its memories; empty for none."""
    reason: str
    """The counts that led to this."""


class EdgeAdded(Event, frozen=True, kw_only=True, tag="edge.added"):
    """A typed edge between two nodes, named as `skill/x`, `task_type/y`, ..."""

    stream: ClassVar[str] = "edge/{0.kind}/{0.source}/{0.target}"
    kind: str
    source: str
    target: str
    weight: float = 1.0
    """Its weight."""
    label: str = ""
    """What relation an edge of kind `relation` stands for, such as `needs`; else empty."""


class EdgeRefused(Event, frozen=True, kw_only=True, tag="edge.refused"):
    """A proposed edge that was not added."""

    # Recorded: without a trace, a refused proposal could not be told from one that was never made.
    stream: ClassVar[str] = "edge/{0.kind}/{0.source}/{0.target}"
    kind: str
    source: str
    target: str
    reason: str
    """Why not: it would close a cycle, or a node is unknown."""
