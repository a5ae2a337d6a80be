"""No leak: whatever is written, in whatever disguise, no guarded question is learned; what is innocent is kept."""

from typing import Any

import msgspec
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.leaks import WRITTEN
from mage_es.engine.briefs import AuthoredChild, AuthoredSkill, OntologyReply, SplittingReply
from mage_es.engine.commands import InduceOntology
from mage_es.engine.decide import decide
from mage_es.engine.rules.leaks import Guarded, packed_shingles, texts_of, without_leaks
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.rotation import ActionTurn
from mage_es.engine.rules.splitting import split
from mage_es.events import vocabulary as v
from tests.kit.plain_events import plain
from tests.kit.stages import flat
from tests.kit.strategies import history
from tests.properties.machine import Life, world_of

pytestmark = pytest.mark.slow

WORLD = world_of("paired")
GUARDED = Guarded(WORLD.splits.events)
QUESTIONS = [WORLD.questions[name].question for name in (*WORLD.setting.anchors, *WORLD.setting.held_out)]
SAMPLES: dict[type[v.Event], v.Event] = {type(e): e for e in flat(history(seed=1, iterations=2, questions=1))}
# Of a method's run; the history is that of an evolution.
SAMPLES[v.NoteWritten] = v.NoteWritten(memory_id="note-1", question_id="q1", text="Read twice.")
NAMES = {"skill", "task_type"}
"""Others refer to a skill or task type by its name, so it is made under that name in any case."""
SHINGLE = 5


def written_in(cls: type[v.Event]) -> list[str]:
    """Return the fields of an event whose words are learned, names apart."""
    fields = (name for name in cls.__struct_fields__ if isinstance(getattr(SAMPLES[cls], name), str))
    return [name for name in fields if name not in NAMES and "a mark" in texts_of(changed(cls, name, "a mark"))]


def changed(cls: type[v.Event], field: str, text: str) -> v.Event:
    return msgspec.structs.replace(SAMPLES[cls], **{field: text})


def kept_of(written: v.Event) -> list[v.Event]:
    return [found.event for found in without_leaks(GUARDED, [v.Draft(event=written, iteration=0, phase="evolve")])]


disguises = st.sampled_from(
    [
        "{0}",
        "  {0} ",
        "«{0}»",
        "So we learn: {0}",
        "{0} The answer is 4.",
        "First.\n\n{0}\n\nThen 3 + 4 = 7.",
        "{0}\n{0}",
    ]
)


spacings = st.sampled_from([" ", "\n", "  "])


def respelt(text: str, *, upper: bool, spaces: str) -> str:
    return spaces.join((text.upper() if upper else text).split())


@pytest.mark.parametrize("cls", sorted(WRITTEN, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__)
@settings(deadline=None, max_examples=15)
@given(
    data=st.data(),
    question=st.sampled_from(QUESTIONS),
    form=disguises,
    upper=st.booleans(),
    spaces=st.sampled_from([" ", "\n", "  "]),
)
def test_a_guarded_question_is_refused_in_any_field_of_any_event(
    cls: type[v.Event], data: st.DataObject, question: str, form: str, upper: bool, spaces: str
) -> None:
    assume(written_in(cls))
    field = data.draw(st.sampled_from(written_in(cls)))
    text = form.format(respelt(question, upper=upper, spaces=spaces))
    kept = kept_of(changed(cls, field, text))
    assert isinstance(kept[0], v.MemoryRefused) and kept[0].what == v.tag_of(SAMPLES[cls])
    for found in kept:
        assert normalise(question) not in normalise(repr(found)), "the refusal tells what it refuses"


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    """Return the runs of five words, counted here once more and not as the rule counts them."""
    return {tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(QUESTIONS), st.lists(st.integers(0, 80), max_size=12))
def test_a_text_is_refused_from_a_jaccard_similarity_of_eight_tenths_and_kept_where_no_run_is_shared(
    question: str, replaced: list[int]
) -> None:
    words = [word.strip(".,?!;:'\"$%()").casefold() for word in question.split()]
    words = [word for word in words if word]
    other = [f"word{place}" if place in replaced else word for place, word in enumerate(words)]
    own, found = shingles(words), shingles(other)
    similarity = len(own & found) / len(own | found)
    event("near" if similarity >= 0.8 else "apart" if not own & found else "between")
    is_refused = isinstance(kept_of(changed_memory(" ".join(other)))[0], v.MemoryRefused)
    if similarity >= 0.8:
        assert is_refused
    if not any(guarded & found for guarded in GUARDED_SHINGLES):
        assert not is_refused


def changed_memory(text: str) -> v.Event:
    cls: Any = next(cls for cls in WRITTEN if v.tag_of(SAMPLES[cls]) == "memory.appended")
    return changed(cls, "reasoning", text)


GUARDED_SHINGLES = [
    shingles([word.strip(".,?!;:'\"$%()").casefold() for word in question.split()]) for question in QUESTIONS
]


def test_no_skill_is_called_by_a_guarded_question_when_it_is_named_nor_when_it_is_split() -> None:
    """Skills are made under their names in any case, so such a name must not come up at all."""
    question = "How many eggs does Ann sell?"
    text = normalise(question)
    guarded = Guarded([committed(text)])
    life = Life("paper", 0)
    life.setting = life.setting._replace(guarded=guarded)
    named = AuthoredSkill(name=question, description="", prerequisites=(), resolves=life.setting.task_types)
    drafts = decide(life.setting, life.state, InduceOntology(life.setting.task_types, OntologyReply(skills=(named,))))
    assert [draft.event.skill for draft in drafts if isinstance(draft.event, v.SkillCreated)] == ["general"]
    life.commit(drafts)

    types = life.setting.task_types
    names = (question, "eggs alone", "money alone")
    children = tuple(
        AuthoredChild(name=name, description="", strategy="", resolves=types[place : place + 1])
        for place, name in enumerate(names)
    )
    reply = SplittingReply(children=children, reason="")
    written = split(ActionTurn(life.state, 0, types[0], "general", v.Origin()), reply, guarded=guarded)
    assert [e.skill for e in written.events if isinstance(e, v.SkillCreated)] == ["eggs alone", "money alone"]
    life.end()


def committed(text: str) -> v.SplitCommitted:
    return plain(
        v.SplitCommitted,
        split="held_out",
        size=1,
        question_hashes=(question_hash(text),),
        shingles=(packed_shingles(text),),
    )
