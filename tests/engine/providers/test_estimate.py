"""A dry run tells what the run then takes, from the loop's own plans, and calls nobody."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.providers.estimate import Estimate, TierEstimate, estimate
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from tests.engine.conftest import begin
from tests.engine.providers.provider import provider, request_of
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

DEFAULT = Config(benchmark="wordmath", seed=7, iterations=9, pool=24, held_out=20, anchors=12)
LONGER = msgspec.structs.replace(DEFAULT, **PAPER_PARTS)


def told(config: Config) -> Estimate:
    return estimate(config, data_dir=None, workers=4, prices=Prices())


def tier(of: Estimate, name: str) -> TierEstimate:
    return next(each for each in of.tiers if each.tier == name)


@pytest.mark.parametrize("config", [DEFAULT, LONGER], ids=["default", "the paper's parts"])
def test_the_run_takes_what_its_dry_run_told_at_least_a_call_for_each_question_to_learn_from(
    tmp_path: Path, config: Config
) -> None:
    known, run = told(config), begin(tmp_path, config)
    rows = summarise(run).ledger
    assert (known.rehearsed, known.iterations) == (6, 9)
    for name in ("execution", "guidance"):
        mine = [row for row in rows if row.tier == name]
        expected = tier(known, name)
        for amount in ("calls", "input_tokens", "output_tokens"):
            took = sum(getattr(row, amount) for row in mine)
            low, likely, high = msgspec.structs.astuple(getattr(expected, amount))
            assert low <= took <= high, (name, amount)
            assert likely == pytest.approx(took, rel=0.2), (name, amount)
    calls = tier(known, "execution").calls
    assert calls.low == 9 * 24 + 12 < calls.expected < calls.high
    if config is DEFAULT:  # where no question takes several calls
        planned = list(LogReader(run.log_path).of(QuestionPlanned))
        assert calls.high == pytest.approx(len(planned), rel=0.05)


@pytest.mark.parametrize("config", [DEFAULT, LONGER], ids=["default", "the paper's parts"])
def test_a_run_that_is_rehearsed_as_a_whole_is_told_exactly(tmp_path: Path, config: Config) -> None:
    short = msgspec.structs.replace(config, iterations=2)
    known, rows = told(short), summarise(begin(tmp_path, short)).ledger
    for name in ("execution", "guidance"):
        assert tier(known, name).calls.expected == sum(row.calls for row in rows if row.tier == name)


def test_guidance_that_would_have_nothing_to_write_is_told_to_cost_nothing() -> None:
    labels = Config(benchmark="private-labels?difficulty=2", iterations=2, pool=12, held_out=12, anchors=6)
    blind = msgspec.structs.replace(labels, teacher_sees="errors")
    named = msgspec.structs.replace(labels, guidance="anthropic/claude-opus-4-8")
    for config, calls in ((labels, 0), (named, 0), (blind, 2)):  # only guidance has answers for a blind run's cases
        assert tier(told(config), "guidance").calls.expected == calls


def test_another_model_is_told_from_lengths_without_being_called(tmp_path: Path) -> None:
    with provider(answer=lambda body: reply(request_of(body))) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        config = msgspec.structs.replace(LONGER, iterations=2, execution=spec)
        known = told(config)
        assert server.asked == []
        evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4), run_id="r")
    execution = tier(known, "execution")
    assert execution.model == spec and "costs nothing" in execution.price
    assert execution.calls.low <= server.served <= execution.calls.high
    assert execution.input_tokens.low <= server.input_tokens <= execution.input_tokens.high


def test_the_reply_to_a_question_that_asks_for_the_answer_alone_is_told_to_be_short() -> None:
    labels = Config(benchmark="private-labels", execution="openai/exec", iterations=2, pool=10, anchors=4, held_out=4)
    direct, reasoned = (
        tier(told(msgspec.structs.replace(labels, route=route)), "execution") for route in ("auto", "cot")
    )
    assert direct.output_tokens.expected == pytest.approx(10 * direct.calls.expected)
    assert reasoned.output_tokens.expected == pytest.approx(250 * reasoned.calls.expected)


def test_what_a_model_costs_is_told_and_what_nobody_priced_is_not_guessed() -> None:
    base = msgspec.structs.replace(LONGER, iterations=1)
    priced = tier(told(msgspec.structs.replace(base, guidance="anthropic/claude-opus-4-8")), "guidance")
    assert priced.usd is not None
    assert 0 < priced.usd.low < priced.usd.expected < priced.usd.high
    assert tier(told(msgspec.structs.replace(base, guidance="openai/unheard-of")), "guidance").usd is None


def test_a_judge_is_told_by_the_answers_that_the_rule_leaves_undecided() -> None:
    judged = told(
        Config(benchmark="truthworld", teacher_sees="solutions", seed=7, iterations=1, pool=24, held_out=20, anchors=12)
    )
    assert 0 < tier(judged, "judge").calls.expected < tier(judged, "judge").calls.high
    assert not [each for each in told(msgspec.structs.replace(LONGER, iterations=1)).tiers if each.tier == "judge"]


def test_batches_make_the_estimate_cheaper_by_what_evolve_asks_but_for_the_worst_case() -> None:
    config = msgspec.structs.replace(LONGER, iterations=2, guidance="anthropic/claude-opus-4-8")
    alone = tier(told(config), "guidance")
    batched = tier(estimate(config, data_dir=None, workers=4, prices=Prices(), batches=True), "guidance")
    assert alone.usd and batched.usd
    assert 0.5 * alone.usd.expected < batched.usd.expected < alone.usd.expected
    assert batched.usd.high == alone.usd.high
    assert "in batches at 0.5 of the price" in batched.price
    assert (batched.calls, batched.input_tokens) == (alone.calls, alone.input_tokens)


@pytest.mark.parametrize(
    ("models", "complaint"),
    [
        ({"execution": "gpt"}, "not of the form provider/model"),
        ({"guidance": "opnai/gpt"}, "no provider 'opnai'"),
        ({"execution": "builtin/reference"}, "cannot serve the execution tier"),
        ({"judge": "builtin/analogits"}, "Did you mean builtin/analogist"),
    ],
)
def test_what_no_run_could_begin_with_is_not_told(models: dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        told(msgspec.structs.replace(LONGER, **models))
