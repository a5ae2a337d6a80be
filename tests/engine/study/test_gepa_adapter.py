"""`mage_es.gepa`: the package's own search over instructions, with a run as its evidence."""

import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import mage_es
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.exams import ledger_of
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import reopen_world, state_of
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, ModelCalled, QuestionPlanned, QuestionsReasked
from tests.cli.conftest import Command, empty_folder, mage
from tests.engine.providers.provider import provider
from tests.engine.study.test_gepa import Obedient, Reflecting
from tests.engine.study.test_ring import THINGS

__all__ = ["empty_folder", "mage"]
pytestmark = pytest.mark.slow
needs_gepa = pytest.mark.skipif(not find_spec("gepa"), reason="needs gepa: python -m pip install 'mage-es[gepa]'")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "gepa.md"
LABELS = ",".join(THINGS.values())
CALLS = 120


def write_tickets(file: Path) -> None:
    names = ["Ada", "Bo", "Cy", "Di", "Eli", "Flo", "Gil", "Hal", "Ivo", "Jo"] * 2
    rows = [
        f"Ticket {number} of {name} on floor {number % 7}: the {thing} is gone,{label}"
        for number, name in enumerate(names)
        for thing, label in THINGS.items()
    ]
    file.write_text("\n".join(["question,answer", *rows]) + "\n")


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over tickets whose label no prompt without a hint gives. Shared: only copy it."""
    folder = tmp_path_factory.mktemp("tickets")
    write_tickets(folder / "tickets.csv")
    config = Config(
        benchmark=f"tasks/{folder}/tickets.csv?scorer=choice&labels={LABELS}",
        seed=7,
        held_out=12,
        anchors=8,
        pool=12,
        iterations=2,
    )
    models = Models(Obedient(), open_model("builtin/reference", "guidance"))
    evolve(config, runs_dir=folder / "runs", run_id="tickets", models=models)
    return find_run(folder / "runs", "tickets")


@pytest.fixture
def run(evolved: Run, tmp_path: Path) -> Run:
    return Run(evolved.id, Path(shutil.copytree(evolved.path, tmp_path / evolved.id)))


class Silent:
    def log(self, message: str) -> None:
        """Print nothing."""


def adapter(run: Run, learner: Obedient, writer: Reflecting | None = None, **how: Any) -> Any:
    import mage_es.gepa

    return mage_es.gepa.Adapter(run, execution=learner, guidance=writer, **how)


def optimized(opened: Any, **how: Any) -> Any:
    import gepa

    given = {"trainset": opened.trainset, "valset": opened.valset, "max_metric_calls": CALLS, **how}
    return gepa.optimize(
        seed_candidate=opened.seed, adapter=opened, reflection_lm=opened.reflect, logger=Silent(), seed=7, **given
    )


def held_out(run: Run) -> dict[str, mage_es.Question]:
    world = reopen_world(LogReader(run.log_path), data_dir=None, frozen=True)
    return {name: world.questions[name] for name in world.setting.held_out}


def asked_again(run: Run, kind: type) -> list[Any]:
    return list(LogReader(run.reasked.log_path).of(kind)) if run.reasked.events else []


@needs_gepa
def test_an_instruction_is_found_on_the_runs_questions_and_holds_for_those_it_never_saw(run: Run) -> None:
    before = state_of(run, LogReader(run.log_path)).digests()
    with adapter(run, Obedient(), Reflecting()) as opened:
        found = optimized(opened)
    scores = found.val_aggregate_scores
    assert scores[0] < 0.5 and scores[found.best_idx] > 0.8
    taught, unseen = found.best_candidate["instruction"], held_out(run).values()
    right = [f"{thing} means {task.gold}" in taught for task in unseen for thing in THINGS if thing in task.question]
    assert sum(right) > 9
    reader = LogReader(run.log_path)
    [event] = reader.of(QuestionsReasked)
    assert event.verb == "gepa" and event.head_seq == LogReader(run.reasked.log_path).head.seq
    assert state_of(run, reader).digests() == before


@needs_gepa
def test_every_call_and_every_verdict_is_on_record_and_the_audit_passes(run: Run) -> None:
    learner, writer = Obedient(), Reflecting()
    with adapter(run, learner, writer) as opened:
        optimized(opened)
    calls = asked_again(run, ModelCalled)
    assert Counter(call.tier for call in calls) == {"execution": len(learner.asked), "guidance": len(writer.asked)}
    sent = sorted(request.sha256 for request in (*learner.asked, *writer.asked))
    assert sorted(call.request_sha256 for call in calls) == sent
    plans, verdicts = asked_again(run, QuestionPlanned), asked_again(run, AnswerJudged)
    assert len(plans) == len(verdicts) >= len(learner.asked) > 24
    ledger = ledger_of(LogReader(run.reasked.log_path))
    assert ledger.total("execution").output_tokens == 2 * len(learner.asked)
    assert ledger.total("guidance").calls == len(writer.asked) > 1
    checks = {check.name: check for check in verify(run).checks}
    assert all(check.ok for check in checks.values())
    again = checks["verdicts asked again"]
    assert again.measured == f"{len(verdicts)} of {len(verdicts)} scored again" and not again.doubt


@needs_gepa
def test_what_the_run_asked_with_its_own_instruction_is_not_asked_again(run: Run) -> None:
    learner = Obedient()
    with adapter(run, learner) as opened:
        batch = opened.evaluate(opened.valset, opened.seed)
    assert learner.asked == [] and len(batch.outputs) == len(opened.valset) == len(asked_again(run, AnswerJudged))
    recorded = {
        judged.question_id: judged.correct
        for judged in LogReader(run.log_path).of(AnswerJudged)
        if judged.purpose == "anchor" and judged.iteration < 0
    }
    assert {task.id: bool(score) for task, score in zip(opened.valset, batch.scores, strict=True)} == recorded


@needs_gepa
def test_the_same_optimization_goes_on_after_a_stop_and_pays_for_nothing_twice(run: Run, evolved: Run) -> None:
    whole = Obedient(), Reflecting()
    with adapter(run, *whole) as opened:
        found = optimized(opened)
    parts = Obedient(), Reflecting()
    again = Run(run.id, Path(shutil.copytree(evolved.path, run.path.parent / "again")))
    for most in (9, 30):
        limits = Runtime(limits=Limits(max_calls=most), workers=1)
        with pytest.raises(BudgetReached), adapter(again, *parts, runtime=limits) as opened:
            optimized(opened)
    with adapter(again, *parts) as opened:
        assert optimized(opened).best_candidate == found.best_candidate
    made = [[request.sha256 for request in models[0].asked + models[1].asked] for models in (whole, parts)]
    assert sorted(made[0]) == sorted(made[1])
    with adapter(again, *parts) as opened:
        optimized(opened)
    assert len(parts[0].asked + parts[1].asked) == len(made[0])


@needs_gepa
def test_no_held_out_question_is_asked_shown_or_accepted(run: Run) -> None:
    secret, learner, writer = held_out(run), Obedient(), Reflecting()
    with adapter(run, learner, writer) as opened:
        assert not secret.keys() & {task.id for task in (*opened.trainset, *opened.valset)}
        optimized(opened)
        with pytest.raises(UsageError, match="is not a question of this adapter"):
            opened.evaluate([*secret.values()][:1], opened.seed)
    for request in (*learner.asked, *writer.asked):
        assert not [task for task in secret.values() if task.question in request.text]
    assert not secret.keys() & {plan.question_id for plan in asked_again(run, QuestionPlanned)}


@needs_gepa
def test_what_chooses_is_in_no_reflection_and_gives_no_answer_away(run: Run) -> None:
    writer = Reflecting()
    with adapter(run, Obedient(), writer) as opened:
        optimized(opened)
        batch = opened.evaluate(opened.valset, opened.seed, capture_traces=True)
        with pytest.raises(UsageError, match="serves to choose among instructions"):
            opened.make_reflective_dataset(opened.seed, batch, ["instruction"])
    assert writer.asked and not any(task.gold for task in opened.valset) and all(task.gold for task in opened.trainset)
    assert not [task for task in opened.valset for request in writer.asked if task.question in request.text]


@needs_gepa
def test_an_instruction_that_quotes_a_held_out_question_is_asked_with_nowhere_and_wins_nothing(run: Run) -> None:
    quoted = next(iter(held_out(run).values()))
    learner = Obedient()
    says = f"Remember: {quoted.question} is {quoted.gold}. " + " ".join(f"{a} means {b}." for a, b in THINGS.items())
    with adapter(run, learner, Reflecting(says)) as opened:
        assert optimized(opened).best_candidate == opened.seed
    assert not [request for request in learner.asked if quoted.question in request.text]


@needs_gepa
def test_a_reflection_is_shown_the_question_the_reply_the_verdict_and_the_runs_correction(course_run: Run) -> None:
    import mage_es.gepa

    opened = mage_es.gepa.Adapter(course_run)
    rows = mage_es.open_run(course_run).state.memory.rows()
    corrections = {row.question_id: row.reasoning for row in rows if row.kind == "specific" and row.is_shown}
    corrected = [task for task in opened.trainset if corrections.get(task.id)]
    assert corrected
    from gepa import EvaluationBatch

    from mage_es.engine.seams.benchmark import Verdict
    from mage_es.engine.study.baselines.method import TrialAnswer

    wrong = TrialAnswer("I say 1.", Verdict(answer="1", score=0.0, strict=False))
    task = corrected[0]
    batch = EvaluationBatch(outputs=[wrong], scores=[0.0], trajectories=[(task, wrong)])
    [shown] = opened.make_reflective_dataset(opened.seed, batch, ["instruction"])["instruction"]
    assert task.question in shown["Inputs"] and shown["Generated Outputs"] == "I say 1."
    assert shown["Feedback"] == f"Wrong. The right answer is: {task.gold}\n{corrections[task.id]}"


@needs_gepa
def test_at_a_later_moment_questions_come_with_what_was_learned_by_then(run: Run) -> None:
    seen = {}
    for at in ("start", "latest"):
        with adapter(run, Obedient(), at=at) as opened:
            opened.evaluate(opened.trainset, {"instruction": f"At {at}, say the label."})
        seen[at] = {plan.iteration: len(plan.memories) for plan in asked_again(run, QuestionPlanned)}
    assert seen["start"] == {-1: 0} and len(seen["latest"]) == 2 and max(seen["latest"].values()) > 0
    assert all(check.ok for check in verify(run).checks)
    with pytest.raises(UsageError, match="iter-0/plan is not the end of an iteration"):
        adapter(run, Obedient(), at="iter-0/plan")


@needs_gepa
def test_without_anchors_every_second_question_chooses_and_a_question_of_a_subject_does_neither(tmp_path: Path) -> None:
    write_tickets(tmp_path / "tickets.csv")
    head, *rows = (tmp_path / "tickets.csv").read_text().splitlines()
    owned = [f"{row},{'ada' if 'of Ada' in row else ''}" for row in rows]
    (tmp_path / "tickets.csv").write_text("\n".join([f"{head},subject", *owned]) + "\n")
    config = Config(
        benchmark=f"tasks/{tmp_path}/tickets.csv?scorer=choice&labels={LABELS}",
        held_out=12,
        anchors=0,
        pool=60,
        iterations=1,
        seed=7,
    )
    models = Models(Obedient(), open_model("builtin/reference", "guidance"))
    evolve(config, runs_dir=tmp_path / "runs", run_id="owned", models=models)
    run = find_run(tmp_path / "runs", "owned")
    opened = adapter(run, Obedient())
    tasks = [*opened.trainset, *opened.valset]
    world = reopen_world(LogReader(run.log_path), data_dir=None, frozen=True)
    asked = {judged.question_id for judged in LogReader(run.log_path).of(AnswerJudged)}
    owned_ids = {name for name in asked if world.questions[name].subject}
    assert (
        owned_ids
        and {task.id for task in tasks} == asked - owned_ids
        and len({task.id for task in tasks}) == len(tasks)
    )
    assert len(opened.trainset) - len(opened.valset) in (0, 1)


@needs_gepa
def test_what_is_no_instruction_and_what_is_not_open_is_refused(run: Run) -> None:
    opened = adapter(run, Obedient())
    with pytest.raises(UsageError, match=r"The candidate has \['system'\]"):
        opened.evaluate(opened.valset, {"system": "Say a label."})
    with pytest.raises(UsageError, match="not open: call"):
        opened.evaluate(opened.valset, opened.seed)
    with pytest.raises(UsageError, match="not the model that answered"), adapter(run, _Other()):
        pass
    with adapter(run, Obedient()):
        pass  # a log without an event is no fault
    assert all(check.ok for check in verify(run).checks)


class _Other(Obedient):
    name = "test/other"


@needs_gepa
def test_the_page_goes_from_a_run_to_an_instruction_and_back_into_a_run(
    mage: Command, empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a server on loopback, whose model reads its prompts: the commands and the code of the page, in order."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    page = PAGE.read_text(encoding="utf-8")
    write_tickets(empty_folder / "tickets.csv")
    with provider(answer=_read_and_said) as server:
        model = f"openai/exec?base_url={server.openai_url}"
        sizes = "--held-out 12 --anchors 8 --pool 12 --iterations 2 --guidance builtin/reference"
        for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
            if language == "python":
                exec(compile(text, str(PAGE), "exec"), {})
                continue
            for line in text.splitlines():
                line = line.removeprefix("$ mage-es ").replace("MODEL", model)
                more = sizes if line.startswith("evolve") else ""
                outcome = mage(*shlex.split(f"{line} {more}"))
                assert outcome.code == 0, (line, outcome.err)
    better = mage_es.find_run(empty_folder / "runs", "better")
    [exam] = better.exams()
    assert all(judged.correct for judged in LogReader(exam.log_path).of(AnswerJudged))
    texts = [text for call in LogReader(better.log_path).of(ModelCalled) for text in call.sent.texts]
    assert [text for text in texts if text.startswith((empty_folder / "better.txt").read_text())]


def _read_and_said(body: dict[str, Any]) -> str:
    """Answer as both stand-ins do: a prompt of GEPA's own asks for an instruction."""
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    if "I provided an assistant with the following instructions" in prompt:
        instruction = prompt.split("```")[1].strip()
        learned = {
            f"{thing} means {label}."
            for thing, label in re.findall(
                rf"the ({'|'.join(THINGS)}) is gone.*?The right answer is: (\w+)", prompt, re.DOTALL
            )
        }
        return f"```\n{' '.join((instruction, *sorted(learned)))}\n```"
    system = next(str(message["content"]) for message in body["messages"] if message["role"] == "system")
    pairs = dict(re.findall(rf"({'|'.join(THINGS)}) means (\w+)", system))
    asked = str(body["messages"][-1]["content"])
    return f"Answer: {next((label for thing, label in pairs.items() if thing in asked), 'amber')}"


def test_without_the_package_the_error_says_how_to_install_it() -> None:
    program = (
        "import sys, mage_es\nassert 'gepa' not in sys.modules\nsys.modules['gepa'] = None\n"
        "try:\n    mage_es.gepa\nexcept mage_es.PrerequisiteError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    told = "mage_es.gepa needs the package gepa: python -m pip install 'mage-es[gepa]'\n"
    assert (done.returncode, done.stdout) == (0, told), done.stderr
