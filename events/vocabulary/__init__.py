"""The vocabulary: one frozen struct for each fact that a run can record, grouped by phase.

Rules
    - An event states what happened and carries its *results* (mastery before and after, posterior after,
      the text that a model returned), so that a fold only assigns and a later change of a formula never
      rewrites history.
    - There is no event that deletes or edits a principle, a failure memory or a success memory. That the
      protected memory only grows (Theorem 1) is therefore a property of this file.
    - Rewards and posteriors are integers in millionths (`_micro`): sums of integers do not depend on order.
    - Field types are limited to what a typed Parquet column can hold: str, int, float, bool, bytes, and
      tuples of these or of `Part` structs.
    - A new field needs a default; renaming, retyping or removing one needs a new schema version (upcasting.py).
"""

from __future__ import annotations

from mage_es.events.vocabulary.asking import (
    AnswerCarried,
    AnswerJudged,
    AnswerUnanswered,
    BatchedCall,
    BatchSubmitted,
    BundleTrimmed,
    CallFailed,
    EmbeddingCalled,
    IterationPlanned,
    ModelCalled,
    QuestionPlanned,
    ReplyRejected,
    Retrieved,
    SearchAnswered,
    Span,
    ToolRan,
)
from mage_es.events.vocabulary.authoring import (
    BriefCut,
    Parameter,
    RetrievalRecipeAuthored,
    SkillRefined,
    SkillSplit,
    ToolAuthored,
    ToolExample,
)
from mage_es.events.vocabulary.curation import (
    MemoryQuarantined,
    MemoryRefused,
    MemoryReleased,
    PatternAbstracted,
    PatternPruned,
    PatternSupported,
)
from mage_es.events.vocabulary.envelope import Coordinates, Draft, Record
from mage_es.events.vocabulary.exams import BaselineStarted, ExamClosed, ExamOpened
from mage_es.events.vocabulary.exploring import (
    ActionRecipeHarvested,
    EntitySeen,
    EpisodeClosed,
    EpisodeStepped,
    ObservationRecorded,
    TaskContextOpened,
)
from mage_es.events.vocabulary.form import (
    MICRO,
    EmbeddingBytes,
    Event,
    Origin,
    Outcome,
    Part,
    Phase,
    Purpose,
    Tier,
    tag_of,
)
from mage_es.events.vocabulary.learning import (
    ActionTaken,
    BanditUpdated,
    MasteryUpdated,
    MemoryAppended,
    MemoryReinforced,
    MemorySuperseded,
    Step,
    Target,
    TargetsSelected,
)
from mage_es.events.vocabulary.marks import (
    BudgetSet,
    Digest,
    GuardDecided,
    IterationClosed,
    PhaseCompleted,
    RunFinished,
    RunResumed,
    SlotsRolledBack,
    SnapshotTaken,
)
from mage_es.events.vocabulary.opening import (
    EdgeAdded,
    EdgeRefused,
    QuestionGold,
    QuestionsStored,
    QuestionText,
    Remark,
    RunStarted,
    SkillCreated,
    SplitCommitted,
    TaskTypeCreated,
    TaskTypeRetired,
)
from mage_es.events.vocabulary.records import LogRepaired, SegmentSealed

__all__ = [
    "EVENT_TYPES",
    "MICRO",
    "ActionRecipeHarvested",
    "ActionTaken",
    "AnswerCarried",
    "AnswerJudged",
    "AnswerUnanswered",
    "BanditUpdated",
    "BaselineStarted",
    "BatchSubmitted",
    "BatchedCall",
    "BriefCut",
    "BudgetSet",
    "BundleTrimmed",
    "CallFailed",
    "Coordinates",
    "Digest",
    "Draft",
    "EdgeAdded",
    "EdgeRefused",
    "EmbeddingBytes",
    "EmbeddingCalled",
    "EntitySeen",
    "EpisodeClosed",
    "EpisodeStepped",
    "Event",
    "ExamClosed",
    "ExamOpened",
    "GuardDecided",
    "IterationClosed",
    "IterationPlanned",
    "LogRepaired",
    "MasteryUpdated",
    "MemoryAppended",
    "MemoryQuarantined",
    "MemoryRefused",
    "MemoryReinforced",
    "MemoryReleased",
    "MemorySuperseded",
    "ModelCalled",
    "ObservationRecorded",
    "Origin",
    "Outcome",
    "Parameter",
    "Part",
    "PatternAbstracted",
    "PatternPruned",
    "PatternSupported",
    "Phase",
    "PhaseCompleted",
    "Purpose",
    "QuestionGold",
    "QuestionPlanned",
    "QuestionText",
    "QuestionsStored",
    "Record",
    "Remark",
    "ReplyRejected",
    "RetrievalRecipeAuthored",
    "Retrieved",
    "RunFinished",
    "RunResumed",
    "RunStarted",
    "SearchAnswered",
    "SegmentSealed",
    "SkillCreated",
    "SkillRefined",
    "SkillSplit",
    "SlotsRolledBack",
    "SnapshotTaken",
    "Span",
    "SplitCommitted",
    "Step",
    "Target",
    "TargetsSelected",
    "TaskContextOpened",
    "TaskTypeCreated",
    "TaskTypeRetired",
    "Tier",
    "ToolAuthored",
    "ToolExample",
    "ToolRan",
    "tag_of",
]


EVENT_TYPES: dict[str, type[Event]] = {tag_of(cls): cls for cls in Event.__subclasses__()}
"""Every event type by its stable tag."""
