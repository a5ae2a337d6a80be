"""The learner is right as often as the law says, for the reasons that the law says, and only from its prompt."""

from collections import Counter
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerCarried, AnswerJudged, QuestionPlanned
from mage_es.projections.fold import State, fold
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.claims import claims_in, is_true
from tests.kit.truthworld.judge import standings_in
from tests.kit.truthworld.learner import reply as reply_to
from tests.kit.truthworld.oracle import Oracle
from tests.kit.truthworld.standings import STANDINGS
from tests.kit.truthworld.world import ORDINARY
from tests.paper_parts import PAPER_PARTS

BENCHMARK = TruthWorld(42)
WORLD, ORACLE = BENCHMARK.world, Oracle(BENCHMARK)
EVOLUTION = BENCHMARK.questions("evolution")
NUMERIC = [question for question in EVOLUTION if question.gold not in STANDINGS]
ESTATES = [question for question in EVOLUTION if question.gold in STANDINGS]


def learn(prompt: str, system: str = "") -> str:
    return reply_to(Request(system=system, prompt=prompt))


def ask(question: Question, *solutions: str, instruction: str = "Reason step by step.") -> str:
    shown = "".join("".join(f"> {line}\n" for line in text.splitlines()) + "\n" for text in solutions)
    head = f"## Solved earlier\n\n{shown}" if shown else ""
    return learn(f"{head}## Question\n\n{question.question}", instruction)


def is_right(question: Question, reply: str) -> bool:
    return BENCHMARK.score(question, reply).correct


@pytest.mark.slow
def test_as_many_answers_are_right_as_the_law_says_on_average() -> None:
    expected = sum(ORACLE.success_probability(question, []) for question in NUMERIC) / len(NUMERIC)
    found = sum(is_right(question, ask(question)) for question in NUMERIC) / len(NUMERIC)
    assert found == pytest.approx(expected, abs=0.025)


def test_each_single_answer_is_right_exactly_where_the_oracle_says() -> None:
    assert all(is_right(q, ask(q)) == ORACLE.answers_rightly(q, []) for q in NUMERIC[:500])


def test_a_better_bundle_loses_no_question_and_a_poisoned_one_wins_none() -> None:
    poisoned = [question for question in NUMERIC if question.meta["solution"] == "poisoned"]
    sound = [question for question in NUMERIC if question.meta["solution"] == "sound"]
    assert all(is_right(q, ask(q, q.solution)) >= is_right(q, ask(q)) for q in sound[:300])
    assert all(is_right(q, ask(q, q.solution)) <= is_right(q, ask(q)) for q in poisoned[:300] if _misleads(q))


def _misleads(question: Question) -> bool:
    claims = claims_in(question.solution)
    return sum(not is_true(WORLD, claim) for claim in claims) * 2 >= len(claims)


@pytest.mark.parametrize("is_told", [False, True])
def test_right_answers_come_in_three_manners_in_the_stated_shares(is_told: bool) -> None:
    told = [(q, ask(q, q.solution) if is_told else ask(q)) for q in NUMERIC]
    replies = [reply for q, reply in told if is_right(q, reply)]
    mute = sum(not claims_in(reply) for reply in replies) / len(replies)
    fluke = sum(any(not is_true(WORLD, claim) for claim in claims_in(reply)) for reply in replies) / len(replies)
    assert mute == pytest.approx(ORDINARY.mute / 100, abs=0.03)
    assert fluke == pytest.approx(ORDINARY.fluke / 100, abs=0.03)


def test_a_wrong_answer_follows_the_wrong_rule_that_it_was_told() -> None:
    for question in [q for q in NUMERIC if q.meta["solution"] == "poisoned"][:200]:
        reply = ask(question, question.solution)
        if not is_right(question, reply):
            told = {claim for claim in claims_in(question.solution) if not is_true(WORLD, claim)}
            assert told <= claims_in(reply)


def test_only_the_answer_is_given_where_only_the_answer_is_asked_for() -> None:
    reply = ask(NUMERIC[0], instruction="Write nothing else: no reasoning.")
    assert reply.splitlines() == [reply]


def test_estates_are_answered_in_bare_words_in_other_words_and_sometimes_in_nothing_definite() -> None:
    verdicts = [(q, BENCHMARK.score(q, ask(q))) for q in ESTATES]
    undecided = [(q, verdict) for q, verdict in verdicts if verdict.undecided]
    assert 0.4 < len(undecided) / len(verdicts) < 0.8
    said = [standings_in(verdict.answer) for _, verdict in undecided]
    assert {len(words) for words in said} == {0, 1}
    for q, verdict in verdicts:
        judged = verdict.correct or (verdict.undecided and standings_in(verdict.answer) == {q.gold})
        assert judged == ORACLE.answers_rightly(q, [])


@pytest.mark.parametrize(
    "prompt", ["", "What is 3 + 4?", "## Question\n\nAtlas 42, land of Nowhere: 57 and tarn", "\x00" * 50]
)
def test_any_prompt_gets_a_reply(prompt: str) -> None:
    assert learn(prompt).endswith("####")


def test_a_step_of_a_chain_and_the_arguments_of_a_tool_are_read_off_the_question() -> None:
    question = NUMERIC[0]
    head = f"## Question\n\n{question.question}\n\nDo not answer yet."
    step = learn(f"Hello.\n\n## This step\n\n> Step: read\n\n{head}")
    call = learn(f"Hello.\n\n## Tool\n\n> Name: reckon\n\n{head}")
    assert step.startswith("This part is about the marks") and not claims_in(step)
    assert call.startswith('{"start":')


@pytest.mark.slow
def test_in_an_ordinary_run_every_verdict_is_the_one_that_the_oracle_foretells(tmp_path: Path) -> None:
    config = Config(
        benchmark="truthworld",
        teacher_sees="solutions",
        seed=42,
        iterations=5,
        pool=60,
        held_out=20,
        anchors=30,
        **PAPER_PARTS,
    )
    evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4), run_id="r")
    reader, state = LogReader(find_run(tmp_path, "r").log_path), State()
    questions = {question.id: question for question in EVOLUTION}
    foretold: dict[tuple[int, str], bool] = {}
    routes: Counter[str] = Counter()
    for record in reader.records({QuestionPlanned, AnswerCarried, AnswerJudged}):
        match record.event:
            case QuestionPlanned() as planned:
                state = fold(reader, until=record.commit - 1, state=state)
                names = [*(hit.memory_id for hit in planned.memories), *planned.principles]
                foretold[planned.iteration, planned.question_id] = ORACLE.answers_rightly(
                    questions[planned.question_id],
                    [state.memory.row(name) for name in names],
                    route=planned.routing_arm,
                    strategy=state.slots.strategy(planned.guiding_skill or planned.skill),
                )
                routes[planned.routing_arm] += 1
            case AnswerJudged() as judged:
                assert judged.correct == foretold.pop((judged.iteration, judged.question_id)), judged
            case AnswerCarried() as carried:  # planned, but enough other anchors were asked; or not even planned
                foretold.pop((carried.iteration, carried.question_id), None)
    assert not foretold
    assert set(routes) >= {"direct", "cot", "chain", "cot_principles", "tool"}
