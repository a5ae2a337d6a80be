"""No memory may hold a question that must not be learned."""

import msgspec
import pytest

from mage_es.engine.rules.leaks import Guarded, packed, packed_shingles, texts_of, without_leaks
from mage_es.engine.rules.near_duplicates import normalise, question_hash, shingle_run
from mage_es.events import vocabulary as v
from tests.kit.stages import flat
from tests.kit.strategies import history

SECRET = "A baker makes 12 loaves in each of 3 ovens and sells 30 of them by noon. How many loaves are left?"
ANCHOR = "Who sells the last loaf?"
EVENTS = flat(history(seed=1, iterations=2, questions=1))


def committed(split: str, *questions: str) -> v.SplitCommitted:
    texts = [normalise(question) for question in questions]
    return v.SplitCommitted(
        split=split,
        size=len(questions),
        ids_sha256="",
        questions_sha256="",
        question_hashes=tuple(question_hash(text) for text in texts),
        shingles=tuple(packed_shingles(text) for text in texts),
    )


GUARDED = Guarded(
    [committed("evolution", "What was learned?"), committed("held_out", SECRET), committed("anchors", ANCHOR)]
)


FORM = "Please answer whether these two sequences of points are sampled from the same trajectory, and say yes or no:"
OWN = "[(108.91226,34.25924)] [(108.92136,34.25929)] [(108.92268,34.26271)]"


@pytest.mark.paper("section 4.1, near-duplicates")
def test_the_form_that_a_types_questions_share_is_no_leak_and_a_question_in_it_is() -> None:
    form = msgspec.structs.replace(committed("evolution"), common_shingles=packed(shingle_run(FORM)))
    shingles = (packed_shingles(f"{FORM} {OWN}", common=frozenset(shingle_run(FORM))),)
    held = msgspec.structs.replace(committed("held_out", f"{FORM} {OWN}"), shingles=shingles)
    guarded = Guarded([form, held])
    assert guarded.common == len(shingle_run(FORM))

    assert guarded.likeness([f"Rule: {FORM} look at the first points of both."]).similarity == 0
    other = f"{FORM} [(108.1,34.1)] [(108.2,34.2)] [(108.3,34.3)]"
    assert guarded.likeness([other]).similarity == 0
    for text in (f"{FORM} {OWN}", f"So: {FORM} {OWN} Then we say no.", f"{FORM.upper()}   {OWN}."):
        assert guarded.likeness([text]).is_leak

    text = f"{OWN} {FORM} {OWN[::-1]}"  # the form in the middle takes no part in what is compared either
    packed_text = packed_shingles(text, common=frozenset(shingle_run(FORM)))
    around = msgspec.structs.replace(committed("held_out", text), shingles=(packed_text,))
    assert Guarded([form, around]).likeness([f"So: {text}, and so on"]).is_leak

    assert Guarded([committed("held_out", f"{FORM} {OWN}")]).likeness([other]).similarity > 0.5


def sample(cls: type[v.Event]) -> v.Event:
    return next(event for event in EVENTS if type(event) is cls)


def drafts(*events: v.Event) -> list[v.Draft]:
    return [v.Draft(event=event, iteration=0, phase="evolve", ordinal=k) for k, event in enumerate(events)]


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"  {SECRET.upper()} ",
        f"Principle: whenever you read “{SECRET}”, subtract.",
        SECRET.replace("left?", "over?"),
    ],
    ids=["exact", "normalised", "quoted", "nearly"],
)
def test_a_text_with_a_guarded_question_is_a_leak(text: str) -> None:
    found = GUARDED.likeness([text])
    assert found.is_leak and found.split == "held_out"
    assert found.question_hash == question_hash(normalise(SECRET))


@pytest.mark.parametrize(
    "text",
    [
        "What was learned?",
        "A baker makes 12 loaves in each of 3 ovens.",
        "",
        "Subtract what is sold from what is made.",
    ],
)
def test_another_text_is_none_however_much_it_speaks_of_the_same(text: str) -> None:
    assert not GUARDED.likeness([text]).is_leak


def test_the_likeness_is_that_of_the_most_alike_text() -> None:
    half = "A baker makes 12 loaves in each of 3 ovens and sells them."
    found = GUARDED.likeness(["nothing", half, "A baker makes 12 loaves"])
    assert 0.3 < found.similarity < 0.8 and found.split == "held_out"
    assert GUARDED.likeness([ANCHOR, SECRET]).split == "anchors"


def test_a_short_question_is_found_as_a_whole_text_only() -> None:
    assert GUARDED.likeness(["who sells the last loaf"]).is_leak
    short = Guarded([committed("held_out", "Two plus two?")])
    assert short.likeness(["two plus two"]).is_leak
    assert not short.likeness(["we know that two plus two is four"]).is_leak


WRITTEN: list[tuple[type[v.Event], str]] = [
    (v.MemoryAppended, "question"),
    (v.MemoryAppended, "reasoning"),
    (v.MemoryAppended, "recognise"),
    (v.MemoryAppended, "wrong_answer"),
    (v.ToolAuthored, "description"),
    (v.ToolAuthored, "source"),
    (v.RetrievalRecipeAuthored, "query_template"),
    (v.RetrievalRecipeAuthored, "reasoning"),
    (v.PatternAbstracted, "text"),
    (v.SkillRefined, "strategy"),
    (v.SkillRefined, "prompt_template"),
]


@pytest.mark.paper("section 4.1, held-out pool")
@pytest.mark.parametrize(("cls", "field"), WRITTEN, ids=lambda value: getattr(value, "__name__", value))
def test_whatever_would_leak_is_refused_and_the_refusal_tells_no_word_of_it(cls: type[v.Event], field: str) -> None:
    leaking = msgspec.structs.replace(sample(cls), **{field: f"note: {SECRET}"})
    kept = without_leaks(GUARDED, drafts(sample(cls), leaking))

    assert [draft.event for draft in kept[:1]] == [sample(cls)]
    refusal = kept[1].event
    assert isinstance(refusal, v.MemoryRefused) and len(kept) == 2
    assert (refusal.split, refusal.similarity > 0.9) == ("held_out", True)
    assert "baker" not in repr(refusal) and kept[1].ordinal == 1


def test_steps_and_actions_are_texts_too() -> None:
    memory = msgspec.structs.replace(sample(v.MemoryAppended), steps=(v.Step(skill="s", output=SECRET),))
    recipe = msgspec.structs.replace(sample(v.ActionRecipeHarvested), actions=tuple(SECRET.split()))
    kept = without_leaks(GUARDED, drafts(memory, recipe))
    assert [type(draft.event) for draft in kept] == [v.MemoryRefused, v.MemoryRefused]


def test_what_only_speaks_of_a_refused_memory_goes_with_it() -> None:
    memory = msgspec.structs.replace(sample(v.MemoryAppended), memory_id="new", question=SECRET)
    pattern = msgspec.structs.replace(sample(v.PatternAbstracted), memory_id="pattern", text=SECRET)
    others: list[v.Event] = [
        v.MemorySuperseded(memory_id="old", by="new"),
        v.MemoryReinforced(memory_id="new", question_id="q", count=2),
        v.PatternSupported(memory_id="pattern", successes=1, failures=1, confidence_micro=1),
        v.PatternPruned(memory_id="pattern", confidence_micro=1, reason=""),
    ]
    stays = [
        v.MemorySuperseded(memory_id="old", by="another"),
        v.MemoryReinforced(memory_id="x", question_id="q", count=2),
    ]
    kept = without_leaks(GUARDED, drafts(memory, pattern, *others, *stays))
    assert [draft.event for draft in kept[2:]] == stays


def test_a_skill_or_task_type_is_made_without_the_words_that_leak() -> None:
    skill = v.SkillCreated(skill="s", mastery=0.5, prompt_template="", strategy=SECRET, parent="p", description="d")
    task_type = v.TaskTypeCreated(task_type="t", description=SECRET)
    kept = [draft.event for draft in without_leaks(GUARDED, drafts(skill, task_type))]

    assert [type(event) for event in kept] == [v.MemoryRefused, v.SkillCreated, v.MemoryRefused, v.TaskTypeCreated]
    assert kept[1] == v.SkillCreated(skill="s", mastery=0.5, prompt_template="", strategy="", parent="p")
    assert kept[3] == v.TaskTypeCreated(task_type="t", description="")


def test_a_plan_is_made_without_a_brief_that_leaks() -> None:
    planned = v.IterationPlanned(
        iteration=4, frontier=("s",), brief=f"s: ask {SECRET}", epoch=0, fresh=("q1",), revisits=(), repeats=()
    )
    refusal, kept = (draft.event for draft in without_leaks(GUARDED, drafts(planned)))
    assert isinstance(refusal, v.MemoryRefused) and refusal.memory_id == "iter-4"
    assert kept == msgspec.structs.replace(planned, brief="")


def test_without_guarded_questions_nothing_is_held_back() -> None:
    events = drafts(*EVENTS)
    assert without_leaks(Guarded(), events) == events
    assert without_leaks(GUARDED, events) == events


def test_every_event_with_words_that_a_prompt_may_quote_is_looked_at() -> None:
    """A new type that brings text into the graph or a prompt has to be looked at too, or be named here."""
    looked_at = {type(event) for event in EVENTS if texts_of(event)}
    wordless = {"edge.added", "edge.refused", "skill.split", "entity.seen", "memory.reinforced", "memory.superseded"}
    growing = {tag for tag in v.EVENT_TYPES if tag.partition(".")[0] in
               {"memory", "tool", "retrieval_recipe", "action_recipe", "pattern", "skill", "task_type"}}  # fmt: skip
    unread = {
        "memory.quarantined",
        "memory.released",
        "memory.refused",
        "pattern.supported",
        "pattern.pruned",
        "task_type.retired",
        "tool.ran",
    }
    assert {v.EVENT_TYPES[tag] for tag in growing - wordless - unread} | {v.IterationPlanned} == looked_at


def test_an_anchor_is_written_as_its_case_in_a_snapshot_and_a_held_out_question_never_is() -> None:
    memory = next(event for event in EVENTS if isinstance(event, v.MemoryAppended))

    def kept(question: str, phase: v.Phase) -> bool:
        event = msgspec.structs.replace(memory, question=question, phase=phase)
        [draft] = without_leaks(GUARDED, [v.Draft(event=event, iteration=0, phase=phase)])
        return draft.event == event

    assert kept(ANCHOR, "snapshot") and not kept(ANCHOR, "update")
    assert not kept(SECRET, "snapshot")
    assert not kept(f"Solve this as before: {ANCHOR}", "snapshot")  # another question, which quotes the anchor
