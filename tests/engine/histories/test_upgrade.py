"""Another model in the learner's place: what was learned is proved again for it, at a price that is known before."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from mage_es.engine.auditing.theorems.benefit import check_benefit
from mage_es.engine.auditing.theorems.reproof import check_reproof
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config, parse
from mage_es.engine.histories.cli.upgrade import priced, verdict
from mage_es.engine.histories.upgrade import upgrade, upgrade_price
from mage_es.engine.histories.upgrade_report import UpgradeReport
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.pricing import Price, Prices
from mage_es.engine.run.runtime import Limits, Runtime
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.serving.opening import ready_to_serve
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.events import vocabulary as v
from mage_es.events.errors import BudgetReached, Interrupted, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from tests.engine.forgery import forged
from tests.engine.study.test_ring import THINGS, Imitator
from tests.kit.models import Saying

pytestmark = pytest.mark.slow
E = TypeVar("E", bound=v.Event)


class Successor(Imitator):
    name = "test/successor"


class Stubborn(Imitator):
    """Says the same whatever it is shown."""

    name = "test/stubborn"

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text="Answer: amber", input_tokens=len(request.text.split()), output_tokens=2)


class Misled(Imitator):
    """Says amber, which is right at times, until it is shown cases."""

    name = "test/misled"

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        text = "Answer: none" if len(request.messages) > 1 else "Answer: amber"
        return Completion(text=text, input_tokens=len(request.text.split()), output_tokens=2)


class Clerk:
    """Adds apples in words of its own; where `is_wrong` of a prompt, one too many."""

    def __init__(self, name: str, is_wrong: Callable[[str], bool] = lambda text: False) -> None:
        self.name, self._is_wrong = name, is_wrong

    async def complete(self, request: Request) -> Completion:
        numbers = [int(word) for word in request.messages[-1].split() if word.isdecimal()]
        total = numbers[1] + numbers[2] + self._is_wrong(request.text)
        text = f"As {self.name} sees it, {numbers[1]} and {numbers[2]} are added.\nAnswer: {total}"
        return Completion(text=text, input_tokens=len(request.text.split()), output_tokens=9)


def taught(learner: Imitator | Clerk) -> Models:
    return Models(learner, open_model("builtin/reference", "guidance"))


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on tickets whose labels follow what is gone, with its exams. Only copy it."""
    folder = tmp_path_factory.mktemp("tickets")
    rows = [
        f"Ticket {number} of {name} on floor {number % 7}: the {thing} is gone,{label}"
        for number, name in enumerate(["Ada", "Bo", "Cy", "Di", "Eli", "Flo", "Gil", "Hal", "Ivo", "Jo"] * 2)
        for thing, label in THINGS.items()
    ]
    (folder / "tickets.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    labels = ",".join(THINGS.values())
    config = Config(
        benchmark=f"tasks/{folder}/tickets.csv?scorer=choice&labels={labels}",
        seed=7,
        held_out=12,
        anchors=6,
        pool=16,
        iterations=2,
        recall=False,
    )
    learner = Imitator()
    evolve(config, runs_dir=folder / "runs", run_id="old", models=taught(learner))
    run = find_run(folder / "runs", "old")
    examine(run, at="start", execution=learner)
    examine(run, execution=learner)
    return run


@pytest.fixture
def old(begun: Run, tmp_path: Path) -> Run:
    return Run("old", shutil.copytree(begun.path, tmp_path / "runs" / "old"))


Upgraded = tuple[Run, UpgradeReport, Successor]


@pytest.fixture(scope="module")
def upgraded(begun: Run, tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    """That run and its upgrade to a model that its memories help. Shared: ask it nothing new."""
    run, learner = Run("old", shutil.copytree(begun.path, tmp_path_factory.mktemp("upgraded") / "old")), Successor()
    return run, upgrade(run, execution=learner, sample=8), learner


def child_of(run: Run, name: str) -> Run:
    return Run(name, run.path.parent / name)


def own_events(run: Run, kind: type[E]) -> list[E]:
    reader = LogReader(run.log_path)
    return list(reader.of(kind, since=last_inherited(reader) + 1))


def own(parent: Run, report: UpgradeReport, purpose: str) -> list[v.AnswerJudged]:
    return [each for each in own_events(child_of(parent, report.run_id), v.AnswerJudged) if each.purpose == purpose]


def state(run: Run) -> State:
    return state_of(run, LogReader(run.log_path))


def test_recorded_questions_and_anchors_are_asked_twice_and_the_old_run_is_only_read(
    upgraded: Upgraded, begun: Run
) -> None:
    old, report, _ = upgraded
    child = child_of(old, "old-on-successor")
    assert (report.run_id, report.parent, report.learner) == (child.id, "old", "test/imitator")
    asked = [(each.question_id, each.is_bare) for each in own_events(child, v.QuestionPlanned)]
    assert len(asked) == len(set(asked)) == 2 * (8 + 6)
    known = {each.question_id for each in LogReader(old.log_path).of(v.AnswerJudged) if each.purpose == "fresh"}
    assert len({name for name, _ in asked} & known) == 8
    assert LogReader(old.log_path).head == LogReader(begun.log_path).head
    assert verify(child).ok, verify(child)
    assert all(check.equal for check in replay(child, until="latest").checks)


def test_a_model_that_the_memories_help_is_served_them_and_keeps_the_gain(upgraded: Upgraded) -> None:
    _, report, _ = upgraded
    assert {each.served for each in report.benefit} == {"learned"}
    assert report.kept and report.kept.share == pytest.approx(1) and report.kept.gain == report.kept.old_gain > 0
    counts = [(each.execution, each.is_bare, each.correct) for each in report.standings]
    assert counts[0][2] < counts[1][2] and [each[2] for each in counts[:2]] == [each[2] for each in counts[2:]]
    said = " ".join(verdict(report))
    assert "100 % of the gain is kept" in said and f"took {report.calls} calls" in said


def test_a_model_that_they_harm_is_served_the_bare_prompt(old: Run) -> None:
    report = upgrade(old, execution=Misled(), sample=18)
    assert {each.served for each in report.benefit} == {"bare"}
    assert report.kept and report.kept.gain == 0 and "0 % of the gain is kept" in " ".join(verdict(report))
    assert verify(child_of(old, report.run_id)).ok


def test_the_gate_goes_by_recorded_questions_as_by_anchors(upgraded: Upgraded, tmp_path: Path) -> None:
    old, report, _ = upgraded
    assert report.benefit[-1].pairs == 8 + 6
    child, again = child_of(old, report.run_id), {each.question_id for each in own(old, report, "fresh")}

    def turned(record: v.Record) -> v.Event:
        event = record.event
        if isinstance(event, v.AnswerJudged) and event.purpose == "bare" and event.question_id in again:
            return msgspec.structs.replace(event, correct=not event.correct)
        return event

    forged(child.log_path, tmp_path / "forged", turned)
    assert check_benefit(child, LogReader(child.log_path), config_of(child)).ok
    assert not check_benefit(child, LogReader(tmp_path / "forged"), config_of(child)).ok


def test_what_measured_the_old_model_is_not_inherited(old: Run) -> None:
    config = msgspec.structs.replace(config_of(old), recall=True)
    report = upgrade(old, execution=Stubborn(), sample=8, config=config)
    child = child_of(old, report.run_id)
    begun = inheritance(LogReader(child.log_path))
    assert begun and (begun.learner, begun.reproof) == ("test/imitator", 8)
    assert measured(old) and not measured(child, until=last_inherited(LogReader(child.log_path)))
    answered = [each for each in own(old, report, "fresh") if each.correct]
    records = state(child).recall.records()
    assert sum(each.answered for each in records) == len(answered) < sum(each.questions for each in records) == 8


def measured(run: Run, until: int | None = None) -> list[v.Event]:
    return list(LogReader(run.log_path).of(v.BenefitDecided, v.RecallCompared, v.BanditUpdated, until=until))


def test_it_asks_as_clients_are_served_and_never_with_a_questions_own_case(old: Run) -> None:
    config = msgspec.structs.replace(config_of(old), revisit_self="include", coin=0.5, bandits=True)
    report = upgrade(old, execution=Successor(), sample=8, config=config)
    child = child_of(old, report.run_id)
    memory, plans = state(child).memory, own_events(child, v.QuestionPlanned)
    assert {plan.coin for plan in plans} == {0.0} and {plan.search_probability for plan in plans} == {1.0}
    shown = [(plan.question_id, memory.row(hit.memory_id).question_id) for plan in plans for hit in plan.memories]
    assert shown and all(asked != made_of for asked, made_of in shown)


def config_of(run: Run) -> Config:
    return parse(first_event(LogReader(run.log_path)).config)


# ------------------------------------------------------------ words


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose cases are in the words of test/old. Only copy it."""
    folder = tmp_path_factory.mktemp("apples")
    rows = [
        f"Person {n} has {n + 3} apples and buys {2 * n} more in street {7 * n} . How many?,{3 * n + 3}"
        for n in range(40)
    ]
    (folder / "apples.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    config = Config(
        benchmark=f"tasks/{folder}/apples.csv?scorer=number",
        iterations=2,
        pool=10,
        held_out=6,
        anchors=4,
        route="cot",
        gate="off",
    )
    evolve(config, runs_dir=folder / "runs", run_id="told", models=taught(Clerk("test/old")))
    return find_run(folder / "runs", "told")


def test_cases_in_the_old_models_words_go_out_of_use_where_they_harm(told: Run, tmp_path: Path) -> None:
    misled = Clerk("test/new", is_wrong=lambda text: "test/old" in text)
    run = Run("told", shutil.copytree(told.path, tmp_path / "told"))
    report = upgrade(run, execution=misled, sample=6)
    assert report.words == (6, 0, 6) and report.words_out == sum(each.is_out for each in report.memories) > 0
    child = child_of(run, report.run_id)
    rows = [row for row in state(child).memory.rows() if row.origin.writer == "test/old" and row.reasoning]
    assert rows and {row.status for row in rows} == {"quarantined"}
    # The anchors were asked when these were out of use, and so was the exam.
    assert [each.correct for each in report.standings] == [6, 6]
    assert all("in another model's words" in each.reason.casefold() for each in own_events(child, v.MemoryQuarantined))
    assert verify(child).ok, verify(child)


def test_what_the_new_model_solves_is_from_then_on_told_in_its_own_words(told: Run, tmp_path: Path) -> None:
    run = Run("told", shutil.copytree(told.path, tmp_path / "told"))
    report = upgrade(run, execution=Clerk("test/new"), sample=6)
    child = child_of(run, report.run_id)
    memory = state(child).memory
    replaced = own_events(child, v.MemorySuperseded)
    assert len(replaced) == 6
    for each in replaced:
        before, after = memory.row(each.memory_id), memory.row(each.by)
        assert (before.origin.writer, after.origin.writer) == ("test/old", "test/new")
        assert before.question_id == after.question_id and after.status == "active"
    assert not own_events(child, v.MemoryQuarantined) and verify(child).ok


def test_verify_finds_a_log_in_which_what_the_record_condemns_stays_in_use(told: Run, tmp_path: Path) -> None:
    run = Run("told", shutil.copytree(told.path, tmp_path / "told"))
    report = upgrade(run, execution=Clerk("test/new", is_wrong=lambda text: "test/old" in text), sample=6)

    child = child_of(run, report.run_id)

    def spared(record: v.Record) -> list[v.Event]:
        return [] if isinstance(record.event, v.MemoryQuarantined) else [record.event]

    forged(child.log_path, tmp_path / "forged", spared)
    [sound], [unsound] = (
        list(check_reproof(LogReader(path), config_of(child))) for path in (child.log_path, tmp_path / "forged")
    )
    assert sound.ok and not unsound.ok and "against the 6 questions" in unsound.detail


# ------------------------------------------------------------ price, budget, going on


def test_the_price_is_known_before_a_call_is_made_and_is_what_it_takes(old: Run, upgraded: Upgraded) -> None:
    own = Price(models=("openai/m",), input=1e6, output=2e6, source="test", date="2026-01-01")  # type: ignore[arg-type]
    own = msgspec.convert(msgspec.to_builtins(own), Price)
    price = upgrade_price(old, execution="openai/m", sample=8, prices=Prices([own]))
    assert (price.sample, price.anchors, price.questions) == (8, 6, 12)
    assert price.calls == 2 * (8 + 6 + 12) and price.usd == price.input_tokens + 2 * price.output_tokens > 0
    assert price.minutes is None and f"About {price.calls} calls of openai/m" in priced(price)
    unknown = upgrade_price(old, execution="openai/m", sample=8, prices=Prices([]))
    assert unknown.usd is None and "dollars unknown, as a price is missing" in priced(unknown)
    run, _, learner = upgraded
    done = upgrade_price(run, execution=learner.name, sample=8)
    assert len(learner.asked) == done.made == price.calls and "no model is called" in priced(done)


def test_what_is_no_model_and_no_sample_is_refused_by_its_value(old: Run) -> None:
    with pytest.raises(UsageError, match="sample is 0, but must be 1 or more"):
        upgrade(old, execution=Successor(), sample=0)
    with pytest.raises(UsageError, match="The execution model 3 is not a model"):
        upgrade(old, execution=3)  # type: ignore[arg-type]


def test_what_a_served_run_costs_to_upgrade_is_judged_by_the_run_that_it_serves(old: Run) -> None:
    opened = ready_to_serve(old).open()
    opened.log.close()
    prices = [upgrade_price(each, execution="openai/m", sample=8, questions=12) for each in (old, opened.run)]
    said = [(each.questions, each.calls, each.input_tokens, each.output_tokens) for each in prices]
    assert said[0] == said[1] and prices[0].input_tokens


def test_as_long_as_something_is_left_to_ask_the_price_is_not_nothing(old: Run) -> None:
    class Cut(Successor):
        async def complete(self, request: Request) -> Completion:
            reply = await super().complete(request)
            if request.max_tokens > 4096:
                return reply
            return msgspec.structs.replace(reply, stop_reason="length", text="", output_tokens=request.max_tokens)

    learner = Cut()
    with pytest.raises(Interrupted):
        upgrade(old, execution=learner, sample=8, runtime=paused(learner, 53))
    price = upgrade_price(old, execution=learner.name, sample=8)
    assert (
        price.made > 2 * (8 + 6 + 12)
        and price.calls > price.made
        and f"{price.made} of them made" in priced(price)
        and "as those so far took them" in priced(price)
    )
    report = upgrade(old, execution=learner, sample=8)
    assert 0.8 * report.calls < price.calls < 1.2 * report.calls, "by the second askings of the first half"


def test_the_pace_of_the_new_model_is_that_of_its_newest_run(old: Run) -> None:
    learner = Successor()
    evolve(
        msgspec.structs.replace(config_of(old), iterations=1),
        runs_dir=old.path.parent,
        run_id="paced",
        models=taught(learner),
    )
    price = upgrade_price(old, execution=learner.name, sample=8)
    assert price.paced_by == "paced" and price.minutes is not None


def test_one_that_was_stopped_goes_on_with_the_same_call_and_asks_nothing_twice(old: Run, upgraded: Upgraded) -> None:
    whole, expected, _ = upgraded
    learner, stops, report = Successor(), 0, None
    while report is None:
        until = len(learner.asked) + 13
        try:
            report = upgrade(old, execution=learner, sample=8, runtime=paused(learner, until))
        except Interrupted:
            stops += 1
            assert len(learner.asked) >= until
    assert stops > 2 and len(learner.asked) == expected.calls
    assert msgspec.structs.replace(report, calls=0) == msgspec.structs.replace(expected, calls=0)
    assert digests(child_of(old, report.run_id)) == digests(child_of(whole, report.run_id))


def paused(learner: Imitator, until: int) -> Runtime:
    return Runtime(workers=1, stop=lambda: len(learner.asked) >= until)


def digests(run: Run) -> object:
    return [event.digests for event in LogReader(run.log_path).of(v.IterationClosed)]


def test_a_budget_is_one_for_the_re_proof_and_the_exams(old: Run) -> None:
    learner = Successor()
    with pytest.raises(BudgetReached):
        upgrade(old, execution=learner, sample=8, runtime=Runtime(workers=1, limits=Limits(max_calls=40)))
    assert len(learner.asked) == 40
    with pytest.raises(BudgetReached):
        upgrade(old, execution=learner, sample=8)
    report = upgrade(old, execution=learner, sample=8, runtime=Runtime(limits=Limits(max_calls=99)))
    assert len(learner.asked) == report.calls == 52


def test_resume_takes_the_re_proof_to_its_end_without_a_guidance_model(small_run: Run, tmp_path: Path) -> None:
    run = Run("small", shutil.copytree(small_run.path, tmp_path / "small"))
    config = msgspec.structs.replace(config_of(run), guidance="anthropic/claude-haiku-4-5?key_env=NO_KEY_AT_ALL")
    few, enough = (Runtime(limits=Limits(max_calls=most)) for most in (5, 500))
    with pytest.raises(BudgetReached):
        upgrade(run, execution="builtin/copier", sample=4, config=config, runtime=few)
    child = child_of(run, "small-on-copier")
    assert resume(child, runtime=enough).state == "finished"
    assert {call.tier for call in own_events(child, v.ModelCalled)} == {"execution"}


def test_without_an_exam_of_the_old_run_it_says_how_to_learn_what_is_kept(told: Run, tmp_path: Path) -> None:
    run = Run("told", shutil.copytree(told.path, tmp_path / "told"))
    report = upgrade(run, execution=Clerk("test/new"), sample=4)
    assert report.kept is None and [each.is_bare for each in report.standings] == [True, False]
    assert "`mage-es exam told`" in " ".join(verdict(report))


def test_what_cannot_be_an_upgrade_is_refused_before_a_call(upgraded: Upgraded) -> None:
    old, _, learner = upgraded
    with pytest.raises(UsageError, match="is the model that old learned with"):
        upgrade(old, execution=Imitator())
    asked = len(learner.asked)
    with pytest.raises(UsageError, match="was started with --sample 8, not 9"):
        upgrade(old, execution=learner, sample=9)
    with pytest.raises(UsageError, match="is not an upgrade of old"):
        upgrade(old, execution=learner, sample=8, run_id="old")
    assert len(learner.asked) == asked


def test_a_run_that_goes_on_with_another_model_measures_that_one_anew(old: Run) -> None:
    config = msgspec.structs.replace(config_of(old), iterations=1)
    for learner, is_inherited in ((Stubborn(), False), (Imitator(), True)):
        name = f"more-{is_inherited}"
        evolve(config, from_run=old, runs_dir=old.path.parent, run_id=name, models=taught(learner))
        child = child_of(old, name)
        assert bool(measured(child, until=last_inherited(LogReader(child.log_path)))) == is_inherited
        assert verify(child).ok, verify(child)


def test_the_control_bare_shows_nothing_that_was_learned(old: Run) -> None:
    with_memories, bare = examine(old, execution=Imitator()), examine(old, control="bare", execution=Imitator())
    assert (bare.bare, bare.total, bare.controlled) == (12, 12, 0) and bare.beside
    assert bare.correct == examine(old, at="start", execution=Imitator()).correct < with_memories.correct
    assert bare.beside.correct == with_memories.correct and verify(old).ok


def test_an_anchor_that_got_no_second_answer_is_said_to_be_stale(old: Run) -> None:
    anchors = next(each for each in LogReader(old.log_path).of(v.SplitCommitted) if each.split == "anchors")
    texts = {each.id: each.question for each in LogReader(old.log_path).questions()[0]}
    refused = next(texts[name] for name in texts if question_hash(normalise(texts[name])) in anchors.question_hashes)

    class Picky(Successor):
        async def complete(self, request: Request) -> Completion:
            if refused in request.messages[-1] and len(request.messages) > 1:
                raise ModelFault(Fault("rejected", "not this one"))
            return await super().complete(request)

    report = upgrade(old, execution=Picky(), sample=8)
    assert report.stale == 1 and verify(child_of(old, report.run_id)).ok


def test_the_price_has_the_judges_calls(tmp_path: Path) -> None:
    judge = Saying("test/judge", '{"score": 1.0, "reason": "so it is"}', input_tokens=3000, output_tokens=9)
    rows = [
        f"{thing} of {place} {hue}?,amber tree" for thing in THINGS for place in "ABC" for hue in ("red", "dun", "jet")
    ]
    (tmp_path / "gone.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    own = Config(
        benchmark=f"tasks/{tmp_path}/gone.csv?scorer=judge",
        judge="test/judge",
        held_out=4,
        anchors=4,
        pool=8,
        iterations=1,
    )
    evolve(own, runs_dir=tmp_path, run_id="judged", models=msgspec.structs.replace(taught(Stubborn()), judge=judge))
    run = find_run(tmp_path, "judged")
    price = upgrade_price(run, execution="test/successor", sample=4)
    report = upgrade(run, execution=Misled(), judge=judge, sample=4)
    assert 0.8 * report.calls < price.calls < 1.2 * report.calls and price.calls > 1.5 * 2 * (4 + price.anchors + 4)
    assert price.input_tokens > 3000 * price.calls / 3
    assert f"About {price.calls} calls of test/successor and test/judge: 4 recorded questions" in priced(price)
