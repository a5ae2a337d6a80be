"""One whole evolution of each of the nine benchmarks on real records, with the embedded models: a suite of its own.

    python -m pytest tests/evolutions          a few minutes on two cores; MAGE_ES_DATA says where the records are

Each is done as from the command line: evolve, the exams before and after, replay, verify, baselines, and the official
metrics of what was replied in the last exam.
"""

import io
import json
import os
from collections.abc import Collection, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mage_es.cli import main
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.exams import RecordedExam
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.replies import replies_of
from mage_es.events.vocabulary import IterationPlanned, QuestionPlanned

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[3] / "shared" / "data"))
SPLITS = ("--held-out", "30", "--anchors", "20")
QUESTIONS = ("--iterations", "2", "--pool", "30")
DRAWN = ("--bandits", "--revisit-cap", "100")
"""The paper's way to choose what a prompt has; the others go by the defaults."""
FEW = ("--held-out", "2", "--anchors", "2")
EPISODES = ("--iterations", "2", "--pool", "2", "--explore-episodes", "2", *DRAWN)
CHECKED = (0, 1)
"""What a check exits with: each test says itself what it expects of it."""


class Trial(NamedTuple):
    """How a benchmark is tried: what `evolve` alone is told, what baselines are told as well, and the baselines."""

    evolve: tuple[str, ...]
    sizes: tuple[str, ...]
    baselines: Mapping[str, tuple[str, ...]]
    metric: str = "accuracy"
    """The official metric by which a verdict says right or wrong, or which is an episode's score."""
    highest: float = 1.0
    """The most that this metric can be."""
    folder: str | None = ""
    """The folder of its records, "" where that is called as the benchmark is; None: it reads none."""

    @property
    def is_sequential(self) -> bool:
        """Return whether its questions are episodes."""
        return "--episode-steps" in self.sizes


REASONING = Trial((*QUESTIONS, *DRAWN), SPLITS, {"zero_shot_cot": (), "few_shot_cot": ()})
TRIALS = {
    "gsm8k": REASONING._replace(evolve=QUESTIONS),
    "realmath": REASONING._replace(evolve=QUESTIONS),
    "hotpotqa": REASONING._replace(
        baselines={**REASONING.baselines, "react": ("--search", "record")}, metric="lenient"
    ),
    "webqa": REASONING._replace(metric="hit"),
    "stbench": REASONING,
    "finqa": REASONING._replace(metric="numeric_match"),
    "medqa": REASONING._replace(evolve=QUESTIONS),
    "webshop-100": Trial(
        EPISODES, (*FEW, "--episode-steps", "15"), {"zero_shot_cot": (), "react": ()}, metric="reward", folder="webshop"
    ),
    "crafter": Trial(
        EPISODES, (*FEW, "--episode-steps", "60"), {"zero_shot_cot": ()}, metric="progress", highest=100, folder=None
    ),
}


class Evolution(NamedTuple):
    """What the commands said about one benchmark, as their JSON, and the log."""

    trial: Trial
    run: RecordedRun
    summary: Any
    before: Any
    after: Any
    replay: Any
    verify: Any
    baselines: Mapping[str, Any]
    score: Any

    @property
    def last_exam(self) -> RecordedExam:
        """Return the exam after the run as its log has it."""
        return self.run.exams[-1]


def mage(*words: str, codes: Collection[int] = (0,)) -> Any:
    """Run a command in this process and return its JSON; it must exit with one of the codes."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as exited:
        main([*words, "--json"])
    assert (exited.value.code or 0) in codes, f"mage-es {' '.join(words)}: {err.getvalue()}"
    return json.loads(out.getvalue())


@pytest.fixture(scope="module", params=TRIALS)
def evolution(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Evolution:
    """The evolution of a benchmark and what was asked about it afterwards. Shared: do not change it."""
    name, trial = request.param, TRIALS[request.param]
    if trial.folder is not None and not (DATA / (trial.folder or name)).is_dir():
        pytest.skip(f"no {name} in {DATA}; set MAGE_ES_DATA")
    folder = tmp_path_factory.mktemp(name)
    at, data = ("--runs-dir", str(folder)), ("--data-dir", str(DATA))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)  # away from the settings of whoever tests, and so without his variables
        for variable in [each for each in os.environ if each.startswith("MAGE_ES_")]:
            patch.delenv(variable)
        summary = mage("evolve", name, *trial.evolve, *trial.sizes, "--run-id", "first", *at, *data)
        before, after = (mage("exam", "first", "--at", marker, *at, *data) for marker in ("start", "latest"))
        return Evolution(
            trial=trial,
            run=(run := RecordedRun(find_run(folder, "first"))),
            summary=summary,
            before=before,
            after=after,
            replay=mage("replay", "first", "--check", *at, codes=CHECKED),
            verify=mage("verify", "first", *at, codes=CHECKED),
            baselines={
                each: mage("baseline", each, name, *trial.sizes, *told, "--run-id", each, *at, *data)
                for each, told in trial.baselines.items()
            },
            score=mage("score", name, "--predictions", str(_predictions(run, folder / "replies.jsonl")), *data),
        )


def _predictions(run: RecordedRun, file: Path) -> Path:
    """Write what was replied in the last exam as predictions."""
    replies = replies_of(run, run.exams[-1])
    file.write_text("".join(json.dumps({"id": name, "prediction": text}) + "\n" for name, text in replies.items()))
    return file


def _plans(run: RecordedRun) -> list[IterationPlanned]:
    return list(run.reader.of(IterationPlanned))


def test_an_evolution_asks_every_question_that_it_plans_and_closes_every_iteration(evolution: Evolution) -> None:
    run = evolution.run
    assert evolution.summary["state"] == "finished"
    assert run.iterations == [0, 1]
    for plan in _plans(run):
        assert len(plan.fresh) + len(plan.revisits) == run.config.pool
        assert not plan.repeats  # there are enough questions for two iterations
        settled = set(run.answers.filter(iteration=plan.iteration)["question_id"])
        assert settled >= {*plan.fresh, *plan.revisits}
    assert not any(row["unanswered"] for row in evolution.summary["rows"])


def test_it_learns_from_what_it_answered(evolution: Evolution) -> None:
    row = evolution.summary["rows"][-1]
    right = sum(row["fresh_correct"] + row["revisit_correct"] for row in evolution.summary["rows"])
    assert row["success_memories"] > 0 or right < 3  # an answer without reasoning is no example
    assert row["failure_memories"] + row["principles"] + row["success_memories"] > 0
    assert evolution.summary["actions"]
    assert {"Learner", "Critic", "Navigator"} <= {row["agent"].title() for row in evolution.summary["agents"]}


def test_every_question_goes_by_an_arm_and_a_route_that_were_drawn(evolution: Evolution) -> None:
    events = list(evolution.run.reader.of(QuestionPlanned))
    asked = [event for event in events if event.purpose in ("fresh", "revisit")]
    assert all(0 < event.search_probability <= 1 and 0 < event.routing_probability <= 1 for event in asked)
    arms = {event.search_arm for event in asked}
    assert len(arms) > 1 if evolution.run.config.bandits else arms == {"nearest"}


def test_every_digest_that_was_recorded_live_is_that_of_the_log_folded_again(evolution: Evolution) -> None:
    assert [(check["iteration"], check["equal"]) for check in evolution.replay] == [(-1, True), (0, True), (1, True)]


def test_every_check_of_its_audit_passes(evolution: Evolution) -> None:
    assert evolution.verify["checks"]
    assert not [check for check in evolution.verify["checks"] if not check["ok"]]


def test_exams_ask_the_same_held_out_questions_before_and_after_and_never_the_guidance_model(
    evolution: Evolution,
) -> None:
    before, after = evolution.before, evolution.after
    assert [name for name, _ in before["answers"]] == [name for name, _ in after["answers"]]
    assert len(after["answers"]) == evolution.run.config.held_out
    assert before["guidance_calls"] == after["guidance_calls"] == 0 < after["execution_calls"]
    learned = set(evolution.run.answers["question_id"])
    assert learned.isdisjoint(name for name, _ in after["answers"])


def test_each_baseline_answers_the_questions_of_the_exam_without_the_guidance_model(evolution: Evolution) -> None:
    for name, report in evolution.baselines.items():
        assert report["baseline"] == name
        assert [answer[0] for answer in report["answers"]] == [answer[0] for answer in evolution.after["answers"]]
        assert report["guidance_calls"] == 0 < report["execution_calls"]


def test_the_metrics_of_the_last_exams_replies_are_those_of_the_answers_that_were_judged(evolution: Evolution) -> None:
    given = [one for one in evolution.score["predictions"] if not one["missing"]]
    assert len(given) == evolution.run.config.held_out
    for one in given:
        judged = evolution.last_exam.answers.filter(question_id=one["id"]).row(0, named=True)
        counts = judged["score"] if evolution.trial.is_sequential else float(judged["correct"])
        assert one["metrics"][evolution.trial.metric] / evolution.trial.highest == pytest.approx(counts, abs=1e-6), one


def test_of_episodes_the_replies_that_named_no_action_are_counted(evolution: Evolution) -> None:
    reported = [*evolution.before["episodes"], *evolution.after["episodes"], *evolution.summary["episodes"]]
    assert bool(reported) is evolution.trial.is_sequential
    assert all(0 <= row["unparsed"] <= row["steps"] for row in reported)
    unparsed = evolution.last_exam.episodes["unparsed"].sum()
    assert sum(row["unparsed"] for row in evolution.after["episodes"]) == unparsed
