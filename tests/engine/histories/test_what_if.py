"""What would have been: as a run that did it shows, as far as the record of the one that did not can say."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytest import approx

import mage_es
from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.effect import effect
from mage_es.engine.histories.what_if import WhatIfAnswers, WhatIfReport, what_if
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import first_iteration
from mage_es.events import vocabulary as v
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import LogReader
from tests.engine.conftest import SMALL, begin

WIDE = msgspec.structs.replace(SMALL, seed=3, iterations=3, pool=60, anchors=20, guard="off", exploration=0.5)
"""Long enough for an arm that is always on offer; much of it drawn evenly."""


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return begin(tmp_path_factory.mktemp("wide") / "runs", WIDE, run_id="wide")


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The small run with a gate."""
    config = msgspec.structs.replace(SMALL, gate="paired")
    return begin(tmp_path_factory.mktemp("gated") / "runs", config, run_id="gated")


@pytest.fixture
def run(evolved_once: Run, tmp_path: Path) -> Run:
    return Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, tmp_path / "runs" / evolved_once.id)))


@pytest.fixture
def asking(wide: Run, tmp_path: Path) -> Run:
    """A copy of the wide run that may be asked again."""
    return Run(wide.id, Path(shutil.copytree(wide.path, tmp_path / "runs" / wide.id)))


def answers(report: WhatIfReport) -> WhatIfAnswers:
    assert report.answers is not None
    return report.answers


def evaluated(run: Run) -> list[tuple[v.QuestionPlanned, bool]]:
    """Return what EVALUATE asked, and whether the answer was right."""
    reader = LogReader(run.log_path)
    found = dict[tuple[int, str], v.QuestionPlanned]()
    answered = []
    for record in reader.records({v.QuestionPlanned, v.AnswerJudged}):
        event = record.event
        if record.phase == "evaluate" and isinstance(event, v.QuestionPlanned):
            found[event.iteration, event.question_id] = event
        elif record.phase == "evaluate" and isinstance(event, v.AnswerJudged):
            answered.append((found[event.iteration, event.question_id], event.correct))
    return answered


def asked(run: Run, iterations: int) -> list[tuple[int, str, str]]:
    """Return the prompts of the first iterations' questions."""
    plans = LogReader(run.log_path).records({v.QuestionPlanned})
    found = [each.event for each in plans if each.phase == "evaluate" and each.iteration < iterations]
    return [(e.iteration, e.question_id, e.prompt_sha256) for e in found if isinstance(e, v.QuestionPlanned)]


# ------------------------------------------------------------ guard and gate


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{"guard": "paper"}, {"guard": "off"}, {"guard_drop": 0.3}, {"guard_drop": 0.0, "guard_p": 1.0}]
)
def test_another_guard_decides_what_it_does_in_a_run_that_has_it(
    settings: dict[str, Any], run: Run, tmp_path: Path, start: Callable[..., Run]
) -> None:
    found = what_if(run, **settings).guard
    assert found is not None and found.verdicts
    other = start(tmp_path / "other", msgspec.structs.replace(SMALL, **settings))
    decided = [(each.iteration, each.verdict) for each in LogReader(other.log_path).of(v.GuardDecided)]
    assert [(each.iteration, each.verdict) for each in found.verdicts] == decided[: len(found.verdicts)]
    # Both were asked the same until after the first consequence that differs, or the last one on record.
    same = 1 + max(each.iteration for each in found.verdicts)
    assert asked(run, same) == asked(other, same)


@pytest.mark.slow
def test_a_stricter_guard_ends_the_record_at_its_first_rollback(wide: Run) -> None:
    found = what_if(wide, guard="paper", guard_drop=0.0, catastrophic_drop=0.0).guard
    assert found is not None
    if found.differs is not None:
        last = found.verdicts[-1]
        assert (last.iteration, last.restored) == (found.differs, None) and last.restores is not None
        assert "with other slots" in found.ends
    assert all(each.restored == each.restores for each in found.verdicts if each.iteration != found.differs)


@pytest.mark.slow
def test_another_gate_serves_what_it_serves_in_a_run_that_has_it(run: Run, gated: Run) -> None:
    found = what_if(run, gate="paired").gate
    assert found is not None and [each.iteration for each in found.snapshots] == [0] and "the last" in found.ends
    [first] = [event for event in LogReader(gated.log_path).of(v.BenefitDecided) if event.iteration == 0]
    assert found.snapshots[0].bare == tuple(each.task_type for each in first.records if each.served == "bare")
    back = what_if(gated, gate="off").gate
    assert back is not None and back.ends == "" and not any(each.bare for each in back.snapshots)


def test_settings_that_the_record_cannot_speak_of_are_refused_with_those_it_can(run: Run, wide: Run) -> None:
    for words, why in (
        ({}, "Ask for one thing"),
        ({"guard": "off", "gate": "paired"}, "Ask for one thing"),
        ({"guard": "off", "arm": "cot"}, "Ask for one thing"),
        ({"bundle": 3}, "bundle changes what is asked"),
        ({"guard": "paired"}, "The run had guard paired"),
        ({"guard": "payper"}, "guard"),
        ({"arm": "cott"}, r"no arm 'cott'.*cot"),
        ({"without": ["zzzz"]}, "learned nothing with the id zzzz"),
        ({"without": "abcd"}, "give a list"),
    ):
        with pytest.raises(UsageError, match=why):
            what_if(run, **words)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no anchor was asked"):
        what_if(wide, guard="paired")


# ------------------------------------------------------------ arms


def test_an_arm_that_is_always_on_offer_is_estimated_from_the_chances_on_record(wide: Run) -> None:
    found = answers(what_if(wide, arm="direct"))
    drawn = [(plan, right) for plan, right in evaluated(wide) if plan.routing_probability < 1]
    taken = [(1 / plan.routing_probability, right) for plan, right in drawn if plan.routing_arm == "direct"]
    estimate = found.estimate
    assert estimate is not None and (estimate.of, estimate.taken) == (len(drawn), len(taken)) and not found.open
    share = sum(weight * right for weight, right in taken) / sum(weight for weight, _ in taken)
    assert estimate.share == approx(100 * share) and estimate.effective >= 30 and estimate.robust is not None
    whole = (found.exact_right + estimate.of * share) / found.answers
    assert found.share == approx(100 * whole) and found.points == approx(100 * (whole - found.right / found.answers))
    assert found.low is not None and found.high is not None and found.low <= found.points <= found.high


def test_prompts_for_which_an_arm_was_no_alternative_stay_as_they_are(wide: Run) -> None:
    found, asked_for = answers(what_if(wide, arm="cot_principles")), evaluated(wide)
    certain = [right for plan, right in asked_for if plan.routing_probability == 1]
    assert found.answers == len(asked_for) == found.exact + found.estimated + found.open
    assert found.exact >= len(certain) and found.estimate is not None
    drew = sum(plan.routing_arm == "cot_principles" for plan, _ in asked_for)
    assert found.estimate.taken == drew and found.estimate.of < found.answers


def test_an_arm_that_was_drawn_too_seldom_gives_bounds_and_no_number(run: Run) -> None:
    found = answers(what_if(run, arm="failure_only"))
    assert found.estimate is not None and found.estimate.effective < 30 and found.estimate.share is None
    assert (found.share, found.points, found.low) == (None, None, None) and found.open == found.estimate.of > 0
    assert found.most_share - found.least_share == approx(100 * found.open / found.answers)


def test_without_dice_there_is_nothing_to_weigh(tmp_path: Path, start: Callable[..., Run]) -> None:
    certain = start(tmp_path, msgspec.structs.replace(SMALL, bandits=False, iterations=1))
    with pytest.raises(UsageError, match=r"No search arm was drawn at random.*balanced for certain.*--bandits"):
        what_if(certain, arm="diverse")


# ------------------------------------------------------------ memories


def most_shown(run: Run) -> str:
    return effect(run, top=1).rows[0].name


def test_without_a_word_nothing_is_asked_and_there_are_bounds(asking: Run) -> None:
    name = most_shown(asking)
    report, showing = what_if(asking, without=[name[:12]]), shown(asking, name)
    found = answers(report)
    assert report.without == (name,) and report.made == 0 and not asking.reasked.path.exists()
    assert found.open == len(showing) > 0 and found.exact == found.answers - len(showing) and found.share is None
    assert report.left.questions == len(showing)
    assert report.left.calls >= len(showing) and report.left.minutes >= 0


def shown(run: Run, name: str) -> list[bool]:
    return [right for plan, right in evaluated(run) if name in {hit.memory_id for hit in plan.memories}]


@pytest.mark.slow
def test_prompts_that_showed_it_are_asked_again_once_and_all_others_stay(asking: Run) -> None:
    name = most_shown(asking)
    bounds = answers(what_if(asking, without=[name]))
    report = what_if(asking, without=[name], reask=True)
    found = answers(report)
    assert report.made > 0 and found.again == len(shown(asking, name)) and not found.open and not found.estimated
    assert (found.low is None) == (found.again < 30)  # as in `effect`, however many others stay
    assert found.share == approx(100 * (found.exact_right + found.again_right) / found.answers)
    assert bounds.least_share <= found.share <= bounds.most_share
    # What `effect` has on record of the same prompts is not asked again, and the other way round.
    again = what_if(asking, without=[name], reask=True)
    assert again.answers == found and again.made == 0
    [event] = LogReader(asking.log_path).of(v.QuestionsReasked)
    [told] = event.without
    assert (event.verb, event.calls, told.memories, told.pairs) == ("what-if", report.made, (name,), found.again)
    assert verify(asking).ok


def test_a_budget_stops_it_and_what_was_asked_by_then_narrows_the_bounds(asking: Run) -> None:
    name = most_shown(asking)
    before = answers(what_if(asking, without=[name]))
    with pytest.raises(BudgetReached):
        what_if(
            asking, without=[name], reask=True, runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=2), workers=1)
        )
    assert sum(1 for _ in LogReader(asking.reasked.log_path).of(v.ModelCalled)) == 2
    found = answers(what_if(asking, without=[name]))
    assert 0 < found.again < before.open and found.open == before.open - found.again and found.share is None
    assert before.least_share <= found.least_share <= found.most_share <= before.most_share
    assert not answers(what_if(asking, without=[name], reask=True)).open


@pytest.mark.slow
def test_where_a_coin_left_them_out_those_prompts_speak_for_the_others(
    tmp_path: Path, start: Callable[..., Run]
) -> None:
    coin = start(tmp_path, msgspec.structs.replace(WIDE, coin=0.5, bundle=1, iterations=4, principles=False))
    names = {event.memory_id for event in LogReader(coin.log_path).of(v.MemoryAppended)}
    found = answers(what_if(coin, without=sorted(names)))
    tossed = [(plan, right) for plan, right in evaluated(coin) if plan.memories or plan.left_out]
    out = [right for plan, right in tossed if not plan.memories]
    assert found.estimate is not None and found.estimate.taken == len(out) >= 30
    assert found.estimated == sum(bool(plan.memories) for plan, _ in tossed)
    assert found.estimate.share == approx(100 * sum(out) / len(out)), "one memory each, and one coin"
    assert found.exact == found.answers - found.estimated and found.share is not None


@pytest.mark.slow
def test_a_run_that_goes_on_from_another_is_judged_by_its_own_snapshots(run: Run) -> None:
    config = msgspec.structs.replace(SMALL, iterations=1)
    mage_es.evolve(config, runs_dir=run.path.parent, run_id="child", from_run=run)
    child = mage_es.find_run(run.path.parent, "child")
    found = what_if(child, guard="off").guard
    reader = LogReader(child.log_path)
    own = [each.iteration for each in reader.of(v.GuardDecided) if each.iteration >= first_iteration(reader)]
    assert found is not None and [each.iteration for each in found.verdicts][-len(own) :] == own
    planned = [each for each in reader.records({v.QuestionPlanned}) if each.phase == "evaluate"]
    assert answers(what_if(child, without=[most_shown(child)])).answers == len(planned)
