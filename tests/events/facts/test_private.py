"""What of the vocabulary may be a subject's text, and how texts behave once they are."""

import pickle

import msgspec
import pytest

from mage_es.events.digests import digest, token_of
from mage_es.events.facts.private import Private, beginning, marked_private, recorded, under_of
from mage_es.events.facts.shapes import Shape, shapes_of
from mage_es.events.vocabulary import EVENT_TYPES, Event, Part, QuestionGold, QuestionText

ENVIRONMENTS = {
    "task_context.opened",
    "pattern.abstracted",
    "observation.recorded",
    "episode.stepped",
    "action_recipe.harvested",
}
"""Events with texts of environments, which have no subjects."""
READABLE = """
     about achievements action action_recipes after agent anchors answer_of arm asked_sha256 baseline batch_id
     before benchmark by chain children common_shingles config config_sha256 context_id control custom_id
     data_sha256 done donor doubtful embedder embedder_sha256 embedding entity_id episode_id evolution exam
     examples execution execution_model facts family fault form fresh frontier gold_digests golds_sha256
     guidance_model guiding_skill head_chain held_out id ids ids_sha256 into judge key kind label learned learner
     left licence marker memories memory_id memory_ids metric model name newly_observed outcome package_sha256
     package_version parent path place planning principles probes_sha256 projection prompt_after prompt_before
     provider_id purpose quarantined question_hash question_id question_ids questions_sha256 reason recipe_id repeats
     request_sha256 resembling revisits rival role root routing_arm run_id saw scorer_sha256 search search_arm seen
     served_by sha256 shingles shots skill source split stop_reason store subject_id target task_type
     task_type_source template text_digests texts_sha256 tool_id type value vectors_sha256 verb verifier wanted
     what wording writer
"""
"""Fields that say nothing of a subject: ids, names, what is counted, hashes that are keyed or of nothing private."""


SERVED = {tag for tag, cls in EVENT_TYPES.items() if cls.__module__ == "mage_es.events.vocabulary.serving"}
"""A run with subjects cannot be served."""


def texts(cls: type[Event] | type[Part], *, without: str) -> set[tuple[str, str]]:
    """Return (owner, field) of every free text of an event type or part that has no such mark, parts of it included."""

    def of(owner: type[Event] | type[Part], name: str, shape: Shape) -> set[tuple[str, str]]:
        if shape.item:
            return of(owner, name, shape.item)
        if shape.part:
            return texts(shape.part, without=without)
        is_text = shape.kind in ("str", "bytes", "vector") and not shape.choices
        return {(owner.__name__, name)} if is_text and without not in shape.marks else set()

    return {found for name, shape in shapes_of(cls).items() for found in of(cls, name, shape)}


def test_every_text_of_the_vocabulary_is_private_or_says_nothing_of_a_subject() -> None:
    kinds = [cls for tag, cls in EVENT_TYPES.items() if tag not in (*ENVIRONMENTS, *SERVED)]
    found = set().union(*(texts(cls, without="private") for cls in (*kinds, QuestionText, QuestionGold)))
    assert {pair for pair in found if pair[1] not in READABLE.split()} == set()


def test_every_text_of_what_is_learned_is_searched_for_guarded_questions_or_is_an_id_or_was_searched_before() -> None:
    kinds = [cls for cls in EVENT_TYPES.values() if "origin" in shapes_of(cls)]
    found = {name for cls in kinds for _, name in texts(cls, without="learned")}
    ids = {
        "memory_id",
        "tool_id",
        "recipe_id",
        "question_id",
        "facts",
        "feedback",
        "key",
        "task_type",
        "skill",
        "children",
    }
    words = {"kind", "type", "phase", "outcome", "saw", "writer", "by", "embedding"}
    before = {"prompt_template_before", "strategy_before"}
    assert found - ids - words - before == {"reason", "problem"}, "told to people, in no prompt"


ANNA = Private("Anna Lind", frozenset({"a"}), token="sealed:AAEC")


def test_what_is_kept_of_a_private_text_is_its_token_and_without_one_it_cannot_be_encoded() -> None:
    assert digest([ANNA]) == digest(["sealed:AAEC"])
    assert recorded(ANNA) == "sealed:AAEC"
    assert recorded("plain") == "plain"
    with pytest.raises(TypeError, match="Private is unsupported"):
        msgspec.msgpack.encode(Private("Anna Lind", frozenset({"a"})), enc_hook=token_of)
    with pytest.raises(TypeError):
        msgspec.json.encode({"text": ANNA})


def test_a_private_text_is_cut_nowhere_and_leaves_the_process_as_a_text() -> None:
    assert beginning(ANNA, 4) is ANNA
    assert beginning("Anna Lind", 4) == "Anna"
    assert type(pickle.loads(pickle.dumps(ANNA))) is str


def test_a_text_stays_under_its_subjects_when_it_is_marked_anew() -> None:
    row = QuestionGold(id="q", gold=Private("Anna Lind", frozenset({"a"})), solution="", remarks=())
    again = marked_private(row, frozenset({"b"}))
    assert under_of(again.gold) == {"a", "b"}
    assert again.gold == "Anna Lind"
    assert type(again.solution) is str
