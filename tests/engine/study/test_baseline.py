"""A baseline is a run of its own: same questions as an evolution, no guidance, resumable, shown and verified."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config, parse
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import baseline_of, first_event
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.study.baseline import baseline, read_baseline, resume_baseline
from mage_es.engine.study.baselines.entries import BASELINES
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted, UsageError
from mage_es.events.log import LogReader
from tests.engine.bench.webshop.small import DATA, needs_data

pytestmark = pytest.mark.slow

SMALL = Config(benchmark="wordmath", seed=7, pool=24, held_out=12, anchors=12)


def run(folder: Path, name: str, config: Config = SMALL, *, stop: Callable[[], bool] = lambda: False) -> Run:
    baseline(name, config, runs_dir=folder, data_dir=None, runtime=Runtime(workers=3, stop=stop), run_id=f"{name}-run")
    return find_run(folder, f"{name}-run")


@pytest.mark.parametrize("name", ["zero_shot_cot", "few_shot_cot", "self_consistency", "reflexion", "reflexion_oracle"])
def test_a_baseline_answers_every_held_out_question_without_guidance(tmp_path: Path, name: str) -> None:
    report = read_baseline(run(tmp_path, name))
    assert (report.total, report.unanswered, report.guidance_calls) == (12, {}, 0)
    assert report.shots == (8 if name == "few_shot_cot" else 0)
    known = BASELINES[name]
    most = 12 * (known.samples + 2 * known.rounds)
    assert report.execution_calls == most or (name == "reflexion_oracle" and report.execution_calls <= most)


def test_it_has_the_questions_that_an_evolution_is_examined_on(small_run: Run, tmp_path: Path) -> None:
    config = Config(benchmark="wordmath", seed=7, pool=24, held_out=20, anchors=12)
    committed = [
        list(LogReader(each.log_path).of(v.SplitCommitted))
        for each in (small_run, run(tmp_path, "zero_shot_cot", config))
    ]
    assert committed[0] == committed[1]


def test_a_baseline_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 25

    with pytest.raises(Interrupted):
        run(tmp_path, "self_consistency", stop=stop)
    stopped = find_run(tmp_path, "self_consistency-run")
    before = len(list(LogReader(stopped.log_path).records({v.ModelCalled})))
    assert baseline_of(LogReader(stopped.log_path)) and 0 < before < 120
    report = resume_baseline(stopped, data_dir=None, runtime=Runtime(workers=3))
    assert report.execution_calls == 120
    whole = read_baseline(run(tmp_path / "whole", "self_consistency"))
    assert report.answers == whole.answers


def test_a_baseline_is_known_for_one_from_its_first_commit_on(tmp_path: Path) -> None:
    records = list(LogReader(run(tmp_path, "zero_shot_cot").log_path).records())
    first = [type(record.event) for record in records if record.commit == records[0].commit]
    assert {v.RunStarted, v.SplitCommitted, v.QuestionsStored, v.BaselineStarted, v.QuestionPlanned} == set(first)


def test_a_baseline_is_not_resumed_with_another_configuration(tmp_path: Path) -> None:
    done = run(tmp_path, "zero_shot_cot")
    config = parse(first_event(LogReader(done.log_path)).config)
    other = msgspec.structs.replace(config, seed=8)
    with pytest.raises(UsageError, match="seed was 7, now 8"):
        resume_baseline(done, config=other, data_dir=None, runtime=Runtime(workers=1))
    assert resume_baseline(done, config=config, data_dir=None, runtime=Runtime(workers=1)).total


def test_it_can_be_shown_with_every_prompt_and_verified(tmp_path: Path) -> None:
    done = run(tmp_path, "reflexion")
    name = next(LogReader(done.log_path).of(v.QuestionPlanned)).question_id  # type: ignore[union-attr]
    shown = show(done, name, iteration=None, data_dir=None)
    assert len(shown.moves) == 5 and all(move.verified for move in shown.moves)  # type: ignore[union-attr]
    assert all(check.ok for check in verify(done).checks)


def test_workshop_is_played_with_an_empty_graph(tmp_path: Path) -> None:
    config = Config(benchmark="workshop", seed=7, held_out=4, anchors=0, episode_steps=12)
    report = read_baseline(run(tmp_path, "zero_shot_cot", config))
    assert report.total == 4 and report.episodes[0].episodes == 4


@pytest.mark.parametrize(
    ("name", "benchmark", "complaint"),
    [
        ("zero", "wordmath", "no baseline 'zero'. Did you mean zero_shot_cot"),
        ("react", "wordmath", "needs something to search: pass --search record"),
        ("reflexion", "workshop", "cannot play the episodes"),
    ],
)
def test_what_makes_no_sense_is_refused_before_a_folder_is_made(
    tmp_path: Path, name: str, benchmark: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        run(tmp_path, name, Config(benchmark=benchmark, held_out=4))
    assert not any(tmp_path.iterdir())


NAMES = ("Ada Quill", "Bo Reed", "Cy Marsh", "Di Fenn", "Eli Stone", "Flo Brook", "Gil Heath", "Hal Moor")


def hotpot(folder: Path) -> Path:
    """Write a small HotpotQA, each question with two paragraphs of its own."""
    (folder / "hotpotqa").mkdir(parents=True)
    files = {"hotpot_train_v1.1.json": ("born", "raised", "buried"), "hotpot_dev_distractor_v1.json": ("wed",)}
    for file, deeds in files.items():
        rows = [
            {
                "_id": f"{deed}{n}", "question": f"In which town was {name}, the {n}th mayor, {deed}?",
                "answer": f"Town {n}", "type": "bridge", "level": "hard", "supporting_facts": [[name, 0]],
                "context": [[name, [f"{name} was {deed} in Town {n}."]], [f"Town {n}", [f"Town {n} lies low."]]],
            }
            for deed in deeds
            for n, name in enumerate(NAMES)
        ]  # fmt: skip
        (folder / "hotpotqa" / file).write_text(json.dumps(rows))
    return folder


def test_react_looks_in_the_questions_own_paragraphs_where_nobody_says_where_as_if_it_had_been_said(
    tmp_path: Path,
) -> None:
    data, said = hotpot(tmp_path / "data"), list[str]()
    found = []
    for search in ("", "record"):
        baseline(
            "react", Config(benchmark="hotpotqa", seed=7, held_out=4, anchors=0, search=search), runs_dir=tmp_path,
            data_dir=data, runtime=Runtime(workers=3, observer=lambda note: said.append(note.message)),
            run_id=f"r{search}",
        )  # fmt: skip
        said.append("end")
        done = find_run(tmp_path, f"r{search}")
        found.append(list(LogReader(done.log_path).of(v.RunStarted, v.ModelCalled)))
    implied, given = (
        [msgspec.structs.replace(e, run_id="") if isinstance(e, v.RunStarted) else e for e in f] for f in found
    )
    assert implied[0] == given[0] and parse(first_event(LogReader(done.log_path)).config).search == "record"
    assert {(e.about, e.text) for e in implied[1:]} == {(e.about, e.text) for e in given[1:]}
    told = "react searches the paragraphs that come with the questions, as with --search record."
    assert said.count(told) == 1 and said.index(told) < said.index("end")
    assert resume_baseline(find_run(tmp_path, "r"), data_dir=data, runtime=Runtime()).total == 4


def test_react_that_could_look_nowhere_is_refused_with_the_advice(tmp_path: Path) -> None:
    (tmp_path / "webqa").mkdir()
    rows = [{"question": f"who is {name} of town {n}?", "answers": [name]} for n, name in enumerate(NAMES)]
    for file in ("train.jsonl", "test.jsonl"):
        (tmp_path / "webqa" / file).write_text(
            "".join(json.dumps({**row, "question": file + row["question"]}) + "\n" for row in rows)
        )
    config = Config(benchmark="webqa", seed=7, held_out=4, anchors=0)
    with pytest.raises(UsageError, match="pass --search record"):
        baseline("react", config, runs_dir=tmp_path / "runs", data_dir=tmp_path, runtime=Runtime())
    assert not (tmp_path / "runs").exists()


class Regular:
    """Has been to the shop: visits for every other product go as the reference solution, the others buy nothing."""

    name = "test/regular"

    def __init__(self, limit: int = 10**9) -> None:
        shop = open_benchmark("webshop-100", seed=42, data_dir=DATA)
        known = shop.questions("evolution")[::2]
        self._visits = {
            each.question: [line.partition("]")[0] + "]" for line in each.solution.splitlines()] for each in known
        }
        self._limit, self.refused = limit, 0

    async def complete(self, request: Request) -> Completion:
        if len(request.prompt) > self._limit:
            self.refused += 1
            raise ModelFault(Fault("too_long", f"{len(request.prompt)} characters", 400))
        asked = request.prompt.rpartition("## Task")[2]
        step = len(re.findall(r"^> \d+\. ", asked, re.MULTILINE))
        visit = next((actions for text, actions in self._visits.items() if text in asked), [])
        action = visit[step] if step < len(visit) else "click[buy now]"
        return Completion(text=f"Action: {action}", input_tokens=9, output_tokens=3)


def played(folder: Path, name: str, config: Config, learn_from: int, *, model: Model | None = None) -> Run:
    baseline(
        *(name, config),
        runs_dir=folder,
        data_dir=DATA,
        runtime=Runtime(workers=3),
        run_id="r",
        learn_from=learn_from,
        models=Models(model, None) if model else None,
    )
    return find_run(folder, "r")


def learned_and_shown(run: Run) -> tuple[dict[str, v.AnswerJudged], set[str]]:
    """Return the verdicts of the episodes that a method learned from, and those that the exam's prompts show."""
    reader = LogReader(run.log_path)
    verdicts = {verdict.question_id: verdict for verdict in reader.of(v.AnswerJudged) if verdict.purpose == "fresh"}
    exam = [plan for plan in reader.of(v.QuestionPlanned) if plan.purpose == "exam"]
    assert all(show(run, plan.question_id, data_dir=DATA).prompt_verified for plan in exam[:2])
    assert all(check.ok for check in verify(run).checks)
    return verdicts, {span.source.removeprefix("case/") for plan in exam for span in plan.spans}


@needs_data
def test_the_nearest_right_episodes_of_a_shop_are_quoted_at_each_step(tmp_path: Path) -> None:
    config = Config(benchmark="webshop-100", seed=42, held_out=4, anchors=0, episode_steps=6)
    verdicts, shown = learned_and_shown(run := played(tmp_path, "knn", config, 16, model=Regular()))
    right = {name for name, verdict in verdicts.items() if verdict.correct}
    assert len(verdicts) == 16 and shown and shown <= right < verdicts.keys()
    name = next(plan.question_id for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "exam")
    steps = [move for move in show(run, name, data_dir=DATA).moves if isinstance(move, CallReport)]
    assert len(steps) > 1 and all("## Solved earlier" in step.prompt for step in steps)
    assert all("click[buy now]" in step.prompt.partition("## Task")[0] for step in steps)


def test_of_worlds_without_an_end_the_episodes_that_got_furthest_are_quoted(tmp_path: Path) -> None:
    config = Config(benchmark="crafter", seed=7, held_out=1, anchors=0, episode_steps=4)
    verdicts, shown = learned_and_shown(played(tmp_path, "full_history", config, 3))
    assert len(verdicts) == 3 and not any(verdict.correct for verdict in verdicts.values())
    assert max(verdicts, key=lambda name: verdicts[name].score_micro) in shown <= verdicts.keys()


@needs_data
def test_a_step_that_does_not_fit_goes_without_the_first_episodes(tmp_path: Path) -> None:
    config = Config(benchmark="webshop-100", seed=42, held_out=2, anchors=0, episode_steps=6)
    run = played(tmp_path, "full_history", config, 16, model=(model := Regular(3000)))
    cut = list(LogReader(run.log_path).of(v.BundleTrimmed))
    assert cut and all(event.memory_id.startswith("case/") for event in cut) and model.refused == len(cut)
    for name in {event.question_id for event in cut if event.purpose == "exam"}:
        assert show(run, name, data_dir=DATA).prompt_verified
    assert read_baseline(run).unanswered == {}
