"""Recall: the nearest cases answer where they were right as often as the model, on the same questions, only there."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.cli.tables import exams, overview
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.prompts import json_block
from mage_es.engine.rules.recall import LEAST, nearest_answer
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.study.reporting.words import in_words
from mage_es.engine.upkeep.erase import erase
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import ExamReport, examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.ask import ask
from mage_es.engine.viewing.show import show
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, ModelCalled, QuestionPlanned, RecallCompared

pytestmark = pytest.mark.slow
TEAMS = {"lamp": "amber", "desk": "birch", "visa": "cobalt", "router": "dune"}
TASKS = [
    {
        "question": f"Ticket {40_000 + number} from room {10_000 + number * 7 % 31}: the {thing} is gone again.",
        "answer": team,
    }
    for number in range(40)
    for thing, team in TEAMS.items()
]
CONFIG = Config(benchmark="tickets", seed=3, iterations=3, pool=24, held_out=24, anchors=8, gate="off")


class Learner:
    """Right about every question, or about none."""

    name = "test/learner"

    def __init__(self, *, knows: bool, tasks: Sequence[Mapping[str, str]] = TASKS) -> None:
        self.answers = {task["question"]: task["answer"] for task in tasks} if knows else {}

    async def complete(self, request: Request) -> Completion:
        question = request.messages[-1].removeprefix("## Question\n\n")
        return Completion(text=self.answers.get(question, "no idea"), input_tokens=9, output_tokens=1)


def examined(
    folder: Path, learner: Learner, *, tasks: Sequence[Mapping[str, str]] = TASKS, **settings: Any
) -> tuple[Run, ExamReport]:
    config = msgspec.structs.replace(CONFIG, **settings)
    models = Models(learner, open_model("builtin/reference", "guidance"))
    evolve(config, tasks=tasks, models=models, runs_dir=folder, runtime=Runtime(workers=2), run_id="r")
    run = find_run(folder, "r")
    return run, examine(run, execution=learner)


@pytest.fixture(scope="module")
def recalled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ExamReport]:
    return examined(tmp_path_factory.mktemp("recalled"), Learner(knows=False))


def test_a_model_that_is_never_right_is_not_asked_where_cases_agree(recalled: tuple[Run, ExamReport]) -> None:
    run, report = recalled
    exam = LogReader(run.exams()[-1].log_path)
    plans = {plan.question_id: plan for plan in exam.of(QuestionPlanned)}
    called = {call.about for call in exam.of(ModelCalled)}
    by_recall = {name for name, plan in plans.items() if plan.routing_arm == "recall"}
    assert report.recalled == len(by_recall) > 0 and not by_recall & called
    assert {name for name, is_right in report.answers if is_right} <= by_recall
    assert report.correct > report.total / 2 and report.bare == 0


def test_a_bundle_has_messages_for_a_model_also_where_an_exam_would_recall_the_answer(
    recalled: tuple[Run, ExamReport],
) -> None:
    run, _ = recalled
    plans = LogReader(run.exams()[-1].log_path).of(QuestionPlanned)
    name = next(plan.question_id for plan in plans if plan.routing_arm == "recall")
    bundle = open_run(run).bundle(open_run(run).world.questions[name].question)
    assert bundle.route != "recall" and bundle.memories and bundle.messages


class Harmed(Learner):
    """Right about every question, unless it is shown cases."""

    def __init__(self) -> None:
        super().__init__(knows=True)

    async def complete(self, request: Request) -> Completion:
        return (
            Completion(text="no idea", input_tokens=9, output_tokens=1)
            if request.turns
            else await super().complete(request)
        )


def test_what_recall_gets_right_does_not_serve_cases_to_a_model_that_they_harm(tmp_path: Path) -> None:
    run, report = examined(tmp_path, Harmed(), gate="paired")
    anchors = [judged for judged in LogReader(run.log_path).of(AnswerJudged) if judged.purpose == "anchor"]
    assert any(judged.recalled and judged.correct for judged in anchors)
    assert report.benefit[-1].served == "bare" and report.benefit[-1].lost > report.benefit[-1].won == 0
    assert report.correct == report.total
    bundle = open_run(run).bundle(TASKS[0]["question"])
    assert not bundle.memories and "the bare prompt is served" in bundle.reason
    assert verify(run).ok


def test_where_the_bare_prompt_is_served_recall_answers_if_it_beats_that(tmp_path: Path) -> None:
    known = [task for task in TASKS if task["answer"] == "dune"]

    class Knows(Harmed):
        def __init__(self) -> None:
            super().__init__()
            self.answers = {task["question"]: task["answer"] for task in known}

    run, report = examined(tmp_path, Knows(), gate="paired", anchors=24)
    assert report.benefit[-1].served == "bare" and report.benefit[-1].bare < report.benefit[-1].pairs
    assert report.recalled == report.correct == report.total
    assert verify(run).ok


def test_wherever_a_gain_is_claimed_it_says_how_many_answers_were_recalled(recalled: tuple[Run, ExamReport]) -> None:
    run, report = recalled
    [row] = summarise(run).exams
    assert row.recalled == report.recalled > 0
    [shown] = exams([row])
    assert shown.rows[0][shown.columns.index("recalled")] == str(report.recalled)
    verified = verify(run)
    assert verified.exams == (row,)
    states = {ground.claim: ground.state for ground in verified.grounds}
    assert f"; {report.recalled} answers of exams are of no model" in states["the models really gave these replies"]
    said = "\n".join(in_words(open_study(run.path.parent)))
    assert f"({report.recalled} of {report.total} recalled, without a call)" in said


def test_a_run_whose_questions_the_model_always_misses_is_not_told_by_these_alone(
    recalled: tuple[Run, ExamReport],
) -> None:
    run, report = recalled
    found = summarise(run)
    anchors = [plan for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.routing_arm == "recall"]
    assert found.recalled == len(anchors) > 0
    told = f"{found.recalled + report.recalled} answers to anchors and in exams recalled from the nearest cases"
    assert told in overview(found) and "always put to the model" in overview(found)
    assert str(found).endswith(f", {report.correct} of {report.total} in its exam")


def test_an_answer_that_was_recalled_says_that_no_model_was_called(
    recalled: tuple[Run, ExamReport],
) -> None:
    run, _ = recalled
    answer = ask(run, TASKS[0]["question"], execution=Learner(knows=False))
    assert (answer.recalled, answer.prompt, answer.answer) == (True, "", TASKS[0]["answer"])
    assert not ask(run, TASKS[0]["question"], at="start", execution=Learner(knows=False)).recalled


def test_a_question_to_learn_from_is_always_asked_and_so_paired(recalled: tuple[Run, ExamReport]) -> None:
    run, _ = recalled
    reader = LogReader(run.log_path)
    fresh = {event.question_id for event in reader.of(AnswerJudged) if event.purpose == "fresh"}
    assert fresh <= {call.about for call in reader.of(ModelCalled)}
    *_, last = reader.of(RecallCompared)
    totals = Counter[str]()
    for record in open_run(run).state.recall.records():
        assert record in last.records or record.agreement not in {each.agreement for each in last.records}
        totals += Counter({name: getattr(record, name) for name in ("questions", "recalled", "answered")})
    # The first iteration has no cases yet.
    assert totals["questions"] == len(fresh) - CONFIG.pool and totals["recalled"] > 0 and totals["answered"] == 0


def test_what_was_recalled_is_shown_verified_and_replayed(recalled: tuple[Run, ExamReport]) -> None:
    run, _ = recalled
    exam = LogReader(run.exams()[-1].log_path)
    name = next(plan.question_id for plan in exam.of(QuestionPlanned) if plan.routing_arm == "recall")
    shown = show(run, name)
    assert shown.routing_arm == "recall" and shown.prompt_verified and shown.prompt == ""
    assert shown.answer in TEAMS.values() and shown.bundle
    assert verify(run).ok and all(check.equal for check in replay(run).checks)


def test_what_was_recalled_stays_verified_once_a_customers_texts_are_erased(tmp_path: Path) -> None:
    tasks = [{**task, "subject": f"customer-{place % 3}"} for place, task in enumerate(TASKS)]
    run, report = examined(tmp_path, Learner(knows=False), tasks=tasks)
    assert report.recalled and verify(run).ok
    erase(run, subject="customer-1")
    assert verify(run).ok


def test_as_good_as_the_model_is_good_enough_and_costs_nothing(tmp_path: Path) -> None:
    _, report = examined(tmp_path, Learner(knows=True))
    assert report.correct == report.total == report.recalled and report.execution_calls == 0


def test_a_model_is_asked_where_near_cases_mislead(tmp_path: Path) -> None:
    # By the room the nearest case is of the same thing and mostly of another team.
    tasks = [{**task, "answer": list(TEAMS.values())[place // 4 % 4]} for place, task in enumerate(TASKS)]
    _, report = examined(tmp_path, Learner(knows=True, tasks=tasks), tasks=tasks)
    assert (report.recalled, report.correct) == (0, report.total)


def test_a_model_that_is_level_with_near_cases_is_asked_where_neither_is_ever_right(tmp_path: Path) -> None:
    # Four tickets share a shelf, and no number.
    tasks = [
        {
            "question": f"Ticket {40_000 + place} from room {10_000 + place * 7 % 31}: the {thing} is gone again.",
            "answer": f"shelf {place // 4 % 12}",
        }
        for place, thing in enumerate([*TEAMS] * 40)
    ]
    run, report = examined(tmp_path, Learner(knows=False), tasks=tasks)
    state = open_run(run).state
    disagree, *agree = state.recall.records()
    assert disagree.questions >= LEAST and (disagree.recalled, disagree.answered) == (0, 0)
    assert any(each.recalled for each in agree)
    plans = [*LogReader(run.exams()[-1].log_path).of(QuestionPlanned)]
    near = [found for plan in plans if (found := nearest_answer(state, plan.memories))]
    assert len(near) == report.total and all(each.agreement == disagree.agreement for each in near)
    assert (report.recalled, report.execution_calls) == (0, report.total)


def test_switched_off_nothing_is_compared_and_the_model_is_asked(tmp_path: Path) -> None:
    run, report = examined(tmp_path, Learner(knows=False), recall=False)
    assert (report.recalled, report.correct) == (0, 0)
    assert not list(LogReader(run.log_path).of(RecallCompared))


def test_with_the_answers_of_others_the_cases_do_not_help(recalled: tuple[Run, ExamReport]) -> None:
    run, report = recalled
    control = examine(run, execution=Learner(knows=False), control="permuted")
    assert control.correct < report.correct / 2


class Judge:
    """Takes an answer for right where it is the expected one."""

    name = "test/judge"

    async def complete(self, request: Request) -> Completion:
        brief = json.loads(json_block(request.prompt))
        is_same = brief["answer"].strip().casefold() == brief["expected"].strip().casefold()
        text = json.dumps({"score": int(is_same), "reason": "compared"})
        return Completion(text=text, input_tokens=9, output_tokens=1)


def test_what_is_recalled_goes_to_the_judge_where_the_rule_cannot_tell(tmp_path: Path) -> None:
    learner, judge = Learner(knows=False), Judge()
    models = Models(learner, open_model("builtin/reference", "guidance"), judge)
    tasks = [{**task, "answer": list(TEAMS.values())[place // 4 % 4]} for place, task in enumerate(TASKS)]
    evolve(CONFIG, tasks=tasks, scorer="judge", models=models, runs_dir=tmp_path, run_id="r")
    report = examine(find_run(tmp_path, "r"), execution=learner, judge=judge)
    assert report.recalled > 0 and report.judge_calls > 0 and report.total == CONFIG.held_out
    assert verify(find_run(tmp_path, "r")).ok
