"""UPDATE: what mastery counts, which arms are rewarded, and what is kept of a right answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from pytest import approx

from mage_es.engine.agents.curator import learn
from mage_es.engine.commands import LearnFromAnswers
from mage_es.engine.courses import call_of
from mage_es.engine.seams.benchmark import Question, Traits
from mage_es.events.vocabulary import (
    MICRO,
    AnswerJudged,
    BanditUpdated,
    Event,
    MasteryUpdated,
    MemoryAppended,
    ModelCalled,
    Purpose,
    QuestionPlanned,
    Step,
    ToolRan,
)
from tests.engine.rules.states import Built, setting_of


class Answered(Built):
    """A state in the middle of an iteration, with answered questions."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def answer(
        self,
        name: str,
        *,
        correct: bool = True,
        purpose: Purpose = "fresh",
        search: str = "balanced",
        routing: str = "cot",
        chain: tuple[str, ...] = (),
        replies: Sequence[str] = ("because\nAnswer: 1",),
    ) -> None:
        """Plan, answer and judge a question of the skill `goal`; of several replies those before the last are steps."""
        self.names.append(name)
        self.state.apply(
            QuestionPlanned(
                iteration=0,
                purpose=purpose,
                question_id=name,
                task_type="t",
                skill="goal",
                search_arm=search,
                search_probability=0.5,
                routing_arm=routing,
                routing_probability=0.5,
                memories=(),
                principles=(),
                template="",
                prompt_sha256="",
                spans=(),
                chain=chain,
            )
        )
        for place, text in enumerate([*replies[-1:], *replies[:-1]]):
            self._reply(call_of(name, place), purpose, text)
        self.state.apply(
            AnswerJudged(
                iteration=0,
                purpose=purpose,
                question_id=name,
                task_type="t",
                skill="goal",
                answer="1",
                score_micro=MICRO if correct else 0,
                correct=correct,
                strict=True,
                judge="",
            )
        )

    def _reply(self, about: str, purpose: Purpose, text: str) -> None:
        self.state.apply(
            ModelCalled(
                iteration=0,
                tier="execution",
                agent="Learner",
                purpose=purpose,
                about=about,
                attempt=0,
                request_sha256=about,
                model="m",
                text=text,
                stop_reason="stop",
                input_tokens=1,
                output_tokens=1,
            )
        )

    def learned(self, *, has_labels: bool = False, **changes: object) -> list[Event]:
        """Return what UPDATE writes."""
        questions = {
            name: Question(id=name, benchmark="", split="evolution", task_type="t", question=f"{name}?", gold="1")
            for name in self.names
        }
        vectors = {name: np.array([1, 0], dtype=np.float32) for name in self.names}
        setting = setting_of(**changes)._replace(traits=Traits(has_labels=has_labels))
        return [d.event for d in learn(setting, self.state, LearnFromAnswers(0, questions, vectors))]


@pytest.mark.paper("agents, Curator")
def test_mastery_and_evidence_count_fresh_answers_of_the_questions_own_skill() -> None:
    answered = Answered()
    answered.skill("b")
    answered.skill("goal", needs=("b",))
    answered.answer("q1", routing="chain", chain=("b", "goal"), replies=("one", "two", "Answer: 1"))
    answered.answer("q2", correct=False)
    answered.answer("q3", purpose="revisit")
    [updated] = [event for event in answered.learned() if isinstance(event, MasteryUpdated)]
    assert (updated.skill, updated.successes, updated.failures, updated.evidence) == ("goal", 1, 1, 0.5)
    assert (updated.before, updated.after) == (0.0, approx(0.6 * 0.5))  # alpha e + (1 - alpha) m


def test_every_answer_rewards_both_of_its_arms_also_one_that_has_just_arrived() -> None:
    answered = Answered()
    answered.reward("balanced", alpha=4, beta=2, pulls=4)
    answered.answer("q1", search="recipe", routing="tool")
    answered.answer("q2", search="recipe", routing="chain", purpose="revisit", correct=False)
    answered.answer("q3")
    rewards = [event for event in answered.learned() if isinstance(event, BanditUpdated)]
    seen = [(r.bandit, r.key, r.arm, r.alpha_after // MICRO, r.beta_after // MICRO, r.pulls_after) for r in rewards]
    assert seen == [
        ("search", "t", "recipe", 2, 1, 1),
        ("routing", "goal", "tool", 2, 1, 1),
        ("search", "t", "recipe", 2, 2, 2),
        ("routing", "goal", "chain", 1, 2, 1),
        ("search", "t", "balanced", 5, 2, 5),
        ("routing", "goal", "cot", 2, 1, 1),
    ]


def test_without_bandits_nothing_is_rewarded_and_everything_else_is_learned() -> None:
    answered = Answered()
    answered.answer("q1")
    kinds = {type(event) for event in answered.learned(bandits=False)}
    assert BanditUpdated not in kinds and {MasteryUpdated, MemoryAppended} <= kinds


@pytest.mark.parametrize(
    ("replies", "reasoning"),
    [(("one", "two", "Answer: 1"), "one\ntwo"), (("one", "two", "so it is\nAnswer: 1"), "one\nso it is")],
)
def test_a_right_answer_by_way_of_a_chain_is_kept_with_its_steps_where_that_is_on(
    replies: tuple[str, ...], reasoning: str
) -> None:
    answered = Answered()
    answered.answer("q1", routing="chain", chain=("b", "goal"), replies=replies)
    [memory] = [event for event in answered.learned(decompositions=True) if isinstance(event, MemoryAppended)]
    assert memory.steps == (Step(skill="b", output="one"), Step(skill="goal", output="two"))
    assert memory.reasoning == reasoning


def test_an_answer_that_is_wrong_or_says_nothing_but_itself_is_not_kept() -> None:
    answered = Answered()
    answered.answer("q1", correct=False)
    answered.answer("q2", routing="direct", replies=("1",))
    assert not [event for event in answered.learned() if isinstance(event, MemoryAppended)]


def test_where_answers_are_labels_a_right_one_is_an_example_by_itself() -> None:
    answered = Answered()
    answered.answer("q1", routing="direct", replies=("Answer: 1",))
    answered.answer("q2", routing="direct", replies=("Answer: 2",), correct=False)
    kept = [event for event in answered.learned(has_labels=True) if isinstance(event, MemoryAppended)]
    assert [(memory.question_id, memory.reasoning, memory.answer) for memory in kept] == [("q1", "", "1")]


@pytest.mark.parametrize(("problem", "kept"), [("", 0), ("no b", 1)])
def test_what_a_tool_worked_out_is_no_reasoning_to_keep(problem: str, kept: int) -> None:
    answered = Answered()
    answered.answer("q1", purpose="revisit", replies=("{}", "the tool says so\nAnswer: 1"))
    ran = ToolRan(
        iteration=0, purpose="revisit", question_id="q1", tool_id="x", arguments="{}", result="1", problem=problem
    )
    answered.state.apply(ran)
    assert len([event for event in answered.learned() if isinstance(event, MemoryAppended)]) == kept


def test_success_memories_can_be_switched_off() -> None:
    answered = Answered()
    answered.answer("q1")
    assert not [event for event in answered.learned(success_memories=False) if isinstance(event, MemoryAppended)]
