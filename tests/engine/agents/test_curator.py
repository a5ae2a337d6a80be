"""UPDATE: what mastery counts, which arms are rewarded, and what is kept of a right answer."""

from collections.abc import Sequence

import numpy as np
import pytest
from pytest import approx

from mage_es.engine.agents.curator import learn
from mage_es.engine.commands import LearnFromAnswers
from mage_es.engine.courses import call_of
from mage_es.engine.seams.benchmark import Question, Traits
from mage_es.events import vocabulary as v
from tests.engine.rules.states import Built, setting_of
from tests.kit.plain_events import plain


class Answered(Built):
    """A state in the middle of an iteration, with answered questions."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.options = "{}"
        self.is_open_ended = False

    def answer(
        self,
        name: str,
        *,
        correct: bool = True,
        purpose: v.Purpose = "fresh",
        search: str = "balanced",
        routing: str = "cot",
        chain: tuple[str, ...] = (),
        replies: Sequence[str] = ("because\nAnswer: 1",),
        reason: str = "",
    ) -> None:
        """Plan, answer and judge a question of the skill `goal`; of several replies those before the last are steps."""
        self.names.append(name)
        self.state.apply(
            plain(
                v.QuestionPlanned,
                purpose=purpose,
                question_id=name,
                task_type="t",
                skill="goal",
                search_arm=search,
                routing_arm=routing,
                chain=chain,
            )
        )
        for place, text in enumerate([*replies[-1:], *replies[:-1]]):
            self._reply(call_of(name, place), purpose, text)
        self.state.apply(
            plain(
                v.AnswerJudged,
                purpose=purpose,
                question_id=name,
                task_type="t",
                skill="goal",
                answer="1",
                score_micro=v.MICRO if correct else 0,
                correct=correct,
                reason=reason,
            )
        )

    def _reply(self, about: str, purpose: v.Purpose, text: str) -> None:
        self.state.apply(
            plain(v.ModelCalled, purpose=purpose, about=about, request_sha256=about, text=text, stop_reason="stop")
        )

    def kept(self, *, labels: int = 0) -> list[v.MemoryAppended]:
        """Return the cases that UPDATE makes of right answers."""
        return [event for event in self.learned(labels=labels) if isinstance(event, v.MemoryAppended)]

    def learned(self, *, labels: int = 0, **changes: object) -> list[v.Event]:
        """Return what UPDATE writes."""
        of_all = {
            "benchmark": "",
            "task_type": "t",
            "gold": "1",
            "solution": "so it is",
            "meta": {"options": self.options},
        }
        questions = {
            name: Question(id=name, split="evolution", question=f"{name}?", **of_all)  # type: ignore[arg-type]
            for name in self.names
        }
        vectors = {name: np.array([1, 0], dtype=np.float32) for name in self.names}
        setting = setting_of(**changes)._replace(traits=Traits(labels=labels, is_open_ended=self.is_open_ended))
        return [d.event for d in learn(setting, self.state, LearnFromAnswers(0, questions, vectors))]


@pytest.mark.paper("agents, Curator")
def test_mastery_and_evidence_count_fresh_answers_of_the_questions_own_skill() -> None:
    answered = Answered()
    answered.skill("b")
    answered.skill("goal", needs=("b",))
    answered.answer("q1", routing="chain", chain=("b", "goal"), replies=("one", "two", "Answer: 1"))
    answered.answer("q2", correct=False)
    answered.answer("q3", purpose="revisit")
    [updated] = [event for event in answered.learned() if isinstance(event, v.MasteryUpdated)]
    assert (updated.skill, updated.successes, updated.failures, updated.evidence) == ("goal", 1, 1, 0.5)
    assert (updated.before, updated.after) == (0.0, approx(0.6 * 0.5))  # alpha e + (1 - alpha) m


def test_every_answer_rewards_both_of_its_arms_also_one_that_has_just_arrived() -> None:
    answered = Answered()
    answered.reward("balanced", alpha=4, beta=2, pulls=4)
    answered.answer("q1", search="recipe", routing="tool")
    answered.answer("q2", search="recipe", routing="chain", purpose="revisit", correct=False)
    answered.answer("q3")
    rewards = [event for event in answered.learned() if isinstance(event, v.BanditUpdated)]
    seen = [(r.bandit, r.key, r.arm, r.alpha_after // v.MICRO, r.beta_after // v.MICRO, r.pulls_after) for r in rewards]
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
    assert v.BanditUpdated not in kinds and {v.MasteryUpdated, v.MemoryAppended} <= kinds


@pytest.mark.parametrize(
    ("replies", "reasoning"),
    [(("one", "two", "Answer: 1"), "one\ntwo"), (("one", "two", "so it is\nAnswer: 1"), "one\nso it is")],
)
def test_a_right_answer_by_way_of_a_chain_is_kept_with_its_steps_where_that_is_on(
    replies: tuple[str, ...], reasoning: str
) -> None:
    answered = Answered()
    answered.answer("q1", routing="chain", chain=("b", "goal"), replies=replies)
    [memory] = [event for event in answered.learned(decompositions=True) if isinstance(event, v.MemoryAppended)]
    assert memory.steps == (v.Step(skill="b", output="one"), v.Step(skill="goal", output="two"))
    assert memory.reasoning == reasoning


def test_every_right_answer_is_kept_as_a_case_with_or_without_reasoning_and_no_wrong_one_is() -> None:
    answered = Answered()
    answered.answer("q1", correct=False)
    answered.answer("q2", routing="direct", replies=("1",))
    answered.answer("q3", replies=("because\nAnswer: 1",))
    kept = [(memory.question_id, memory.reasoning, memory.answer, memory.kind) for memory in answered.kept()]
    assert kept == [("q2", "", "1", ""), ("q3", "because", "1", "")]


def test_a_right_label_without_reasoning_is_marked_as_a_guess_until_it_is_right_more_often_than_chance_brings() -> None:
    answered = Answered()
    for name in ("q1", "q2"):
        answered.answer(name, routing="direct", replies=("Answer: 1",))
    assert [memory.kind for memory in answered.kept(labels=4)] == ["guess", "guess"]
    answered.answer("q3", routing="direct", replies=("Answer: 1",))
    assert [memory.kind for memory in answered.kept(labels=4)] == ["", "", ""]
    for place in range(9):
        answered.answer(f"r{place}", routing="direct", replies=("Answer: 1",), correct=False)
    assert {memory.kind for memory in answered.kept(labels=4)} == {"guess"}
    assert {memory.kind for memory in answered.kept()} == {""}  # a number is not hit by chance


def test_options_of_a_questions_own_count_as_labels_and_reasoning_is_no_guess() -> None:
    answered = Answered()
    answered.options = '{"A": "red", "B": "blue"}'
    answered.answer("q1", routing="direct", replies=("Answer: 1",))
    answered.answer("q2", replies=("because\nAnswer: 1",))
    assert [(memory.question_id, memory.kind) for memory in answered.kept()] == [("q1", "guess"), ("q2", "")]


def test_what_proves_to_be_no_guess_takes_the_place_of_the_one_that_is_marked() -> None:
    answered = Answered()
    answered.answer("q1", routing="direct", replies=("Answer: 1",))
    [guess] = answered.kept(labels=2)
    answered.state.apply(guess)
    answered.answer("q1", replies=("because\nAnswer: 1",))
    events = answered.learned(labels=2)
    [memory] = [event for event in events if isinstance(event, v.MemoryAppended)]
    [older] = [event for event in events if isinstance(event, v.MemorySuperseded)]
    assert (older.memory_id, older.by) == (guess.memory_id, memory.memory_id)


@pytest.mark.parametrize(("problem", "reasoning"), [("", ""), ("no b", "the tool says so")])
def test_what_a_tool_worked_out_is_no_reasoning_to_keep(problem: str, reasoning: str) -> None:
    answered = Answered()
    answered.answer("q1", purpose="revisit", replies=("{}", "the tool says so\nAnswer: 1"))
    ran = v.ToolRan(
        iteration=0, purpose="revisit", question_id="q1", tool_id="x", arguments="{}", result="1", problem=problem
    )
    answered.state.apply(ran)
    assert [memory.reasoning for memory in answered.kept()] == [reasoning]


def test_success_memories_can_be_switched_off() -> None:
    answered = Answered()
    answered.answer("q1")
    assert not [event for event in answered.learned(success_memories=False) if isinstance(event, v.MemoryAppended)]


def missed(answered: Answered, **changes: object) -> list[v.MemoryAppended]:
    events = answered.learned(cases=True, **changes)
    return [event for event in events if isinstance(event, v.MemoryAppended) and event.outcome == "failure_memory"]


@pytest.mark.parametrize(("sees", "reasoning"), [("solutions", "so it is"), ("answers", "")])
def test_a_missed_question_is_a_case_at_once_with_what_a_teacher_may_see(sees: str, reasoning: str) -> None:
    answered = Answered()
    answered.answer("q1")
    answered.answer("q2", correct=False)
    answered.answer("q3", correct=False, purpose="revisit")
    cases = missed(answered, teacher_sees=sees)
    assert [case.question_id for case in cases] == ["q2", "q3"]
    assert {(case.kind, case.answer, case.reasoning) for case in cases} == {("case", "1", reasoning)}
    assert {case.origin.saw for case in cases} == {sees}
    ordinals = [event.ordinal for event in answered.learned(cases=True) if isinstance(event, v.MemoryAppended)]
    assert len(set(ordinals)) == len(ordinals) == 3


def test_where_no_teacher_may_see_answers_a_missed_question_is_no_case() -> None:
    answered = Answered()
    answered.answer("q1", correct=False)
    assert missed(answered, teacher_sees="errors") == []


def test_a_question_that_was_corrected_gets_no_case_and_an_episode_has_no_right_answer() -> None:
    answered = Answered()
    answered.answer("q-x", correct=False)
    assert len(missed(answered)) == 1
    answered.memory("x", "failure_memory")
    assert missed(answered) == []
    endless = Answered()
    endless.answer("q1", correct=False)
    endless.is_open_ended = True
    assert missed(endless) == []
