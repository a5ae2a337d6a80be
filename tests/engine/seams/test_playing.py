"""Playing episodes from lists of actions."""

from mage_es.engine.players.worlds.workshop.benchmark import Workshop
from mage_es.engine.seams.environment import Environment, is_sequential
from mage_es.engine.seams.playing import play_actions, sightings, transcript

BENCHMARK = Workshop(5)
QUESTION = next(q for q in BENCHMARK.questions("evolution") if q.task_type.endswith("_tools"))


def environment() -> Environment:
    return BENCHMARK.environment(QUESTION)


def actions() -> list[str]:
    return [line.partition(": ")[0] for line in QUESTION.solution.splitlines()]


def test_a_transcript_plays_like_the_bare_actions_that_it_was_made_of() -> None:
    assert transcript(environment(), actions()) == QUESTION.solution
    bare, told = play_actions(environment(), "\n".join(actions())), play_actions(environment(), QUESTION.solution)
    assert bare == told
    assert bare.strict and bare.score == 1.0


def test_a_line_without_an_action_costs_its_step() -> None:
    lines = ["hmm"] * (2 * len(actions())) + actions()
    assert play_actions(environment(), "\n".join(lines)).score < 1.0
    assert play_actions(environment(), "\n".join([*actions()[:1], "hmm", *actions()[1:]])).score == 1.0


def test_the_answer_is_what_was_achieved() -> None:
    assert play_actions(environment(), "").answer == "nothing"
    assert QUESTION.gold.split()[0] in play_actions(environment(), QUESTION.solution).answer.split(", ")[-1]


def test_sightings_hold_everything_once_in_the_order_in_which_it_was_seen() -> None:
    seen = sightings(environment(), [*actions(), None])
    assert len(set(seen.entities)) == len(seen.entities) > 3
    assert len(set(seen.relations)) == len(seen.relations)
    assert {relation.label for relation in seen.relations} >= {"found at", "takes", "made at"}
    assert sightings(environment(), []).entities == tuple(environment().reset().entities)


def test_only_a_benchmark_of_episodes_is_sequential() -> None:
    from mage_es.engine.players.worlds.wordmath.benchmark import WordMath

    assert is_sequential(BENCHMARK)
    assert not is_sequential(WordMath(1))
