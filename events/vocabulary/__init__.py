"""The vocabulary: one frozen struct for each fact that a run can record, grouped by phase.

Rules
    - An event states what happened and carries its *results* (mastery before and after, posterior after,
      the text that a model returned), so that a fold only assigns and a later change of a formula never
      rewrites history.
    - There is no event that deletes or edits a principle, a failure memory or a success memory. So it is a property of
      this file that the protected memory only grows (Theorem 1).
    - Rewards and posteriors are integers in millionths (`_micro`): sums of integers do not depend on order.
    - Field types are limited to what a typed Parquet column can hold: str, int, float, bool, bytes, and
      tuples of these or of `Part` structs.
    - A new field needs a default; renaming, retyping or removing one needs a new schema version (facts/vocabulary.py).
"""

from mage_es.events.facts.envelope import *
from mage_es.events.facts.event import *
from mage_es.events.facts.event import Event, tag_of
from mage_es.events.facts.records import *
from mage_es.events.facts.vocabulary import QuestionTypes, Vocabulary
from mage_es.events.vocabulary.asking import *
from mage_es.events.vocabulary.authoring import *
from mage_es.events.vocabulary.curation import *
from mage_es.events.vocabulary.exams import *
from mage_es.events.vocabulary.exams import ExamClosed, ExamOpened
from mage_es.events.vocabulary.exploring import *
from mage_es.events.vocabulary.learning import *
from mage_es.events.vocabulary.marks import *
from mage_es.events.vocabulary.marks import IterationClosed, PhaseCompleted, RunFinished
from mage_es.events.vocabulary.meanings import COMMON
from mage_es.events.vocabulary.opening import *
from mage_es.events.vocabulary.opening import QuestionGold, QuestionsStored, QuestionText
from mage_es.events.vocabulary.parts import *
from mage_es.events.vocabulary.serving import *
from mage_es.events.vocabulary.serving import InferenceClosed, InferenceOpened

EVENT_TYPES: dict[str, type[Event]] = {
    tag_of(cls): cls
    for cls in list(globals().values())
    if isinstance(cls, type) and issubclass(cls, Event) and cls.__struct_config__.tag
}
"""Every event type by its stable tag."""

MAGE_ES = Vocabulary(
    EVENT_TYPES.values(),
    marks={IterationClosed: ("iteration",), PhaseCompleted: ("iteration", "phase")},
    heads=(IterationClosed,),
    signed=(ExamOpened, ExamClosed, RunFinished),
    ends=(RunFinished,),
    # Every inference has its own number. An index of them would grow with the traffic while an iteration is open.
    once=(InferenceOpened, InferenceClosed),
    questions=QuestionTypes(QuestionsStored, QuestionText, QuestionGold),
    meanings=COMMON,
)
"""The vocabulary of a run's log."""
