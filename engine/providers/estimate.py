"""`evolve --dry-run`: the calls, tokens and dollars that a run will take, from a short rehearsal.

Rules
    - The rehearsal is a whole run in a temporary folder, a short one, with the benchmark's embedded models instead of
      paid ones. Its first iteration, where nothing was learned, and its last, which asks all anchors, count once; those
      between, as many as EVOLVE rotates actions, stand for all others. The run may end early; the rehearsal does not.
    - A question to learn from takes a call at least, a later anchor none if it sees nothing new, is no longer needed,
      or is recalled; at most every planned question takes the longest course that was rehearsed, and has a prompt as
      long as those of the iteration with the longest.
    - `hash` stands in for a served embedder, with the same batches, and counts characters; a judge that rejects
      everything stands in for the judge.
    - Tokens of an embedded model are counted. Those of another are estimated: a prompt's from its characters, a reply's
      between the stand-in's and the raised limit of the request, depending on whether only the answer is asked for.
      Thinking is added to the expected reply if its spec says `thinking=on` or a number; a model may also think on its
      own, which only the maximum covers.
    - No tokens come from a cache. The high estimate writes every fixed part into one, and repeats every batched call
      on its own, at full price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.askings.requests import Requests
from mage_es.engine.benchmarks.registry import own_models, with_own_models
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.embedders.served import Embedded, ServedEmbedder
from mage_es.engine.models.registry import Models, check_models, open_model
from mage_es.engine.rules.rotation import ACTIONS, SWITCHED_OFF, with_companions
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.frames import frames
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.verbs.evolve import evolve
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Tier


class Bounds(msgspec.Struct, frozen=True):
    """An amount with its likely minimum and maximum."""

    low: float
    expected: float
    high: float


class TierEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a tier will take; `usd` is None and `price` empty if the price of its model is unknown."""

    tier: str
    model: str
    calls: Bounds
    input_tokens: Bounds
    output_tokens: Bounds
    usd: Bounds | None
    price: str


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    benchmark: str
    iterations: int
    rehearsed: int
    tiers: tuple[TierEstimate, ...]


Amounts = NDArray[np.float64]
"""The low, the expected and the high value of an amount."""
_CHARACTERS = np.array([6.0, 4.0, 2.5])
"""For Latin prose, across tokenizers and languages; the first gives the fewest tokens."""
_REPLY_TOKENS, _DIRECT_TOKENS = 250, 10
"""Tokens of a worked answer to a school problem with its reasoning, and of a bare answer."""
_THOUGHT_TOKENS = 900
"""Median tokens that a small model thinks about such a problem."""
_QUESTION = ("iteration", "purpose", "question_id")
_READS: Reads = {
    v.QuestionPlanned: (*_QUESTION, "routing_arm"),
    v.AnswerJudged: ("iteration",),
    v.EmbeddingCalled: ("iteration", "input_tokens"),
    v.ActionTaken: ("iteration", "action", "outcome"),
}
_Log = Mapping[type[v.Event], pl.DataFrame]
"""The events of a rehearsal, each with its weight: how many iterations of the run its own stands for."""
_ONE = pl.lit(1.0)
_IN_EVOLVE = pl.col("purpose").is_in([template for template, _ in TEMPLATES.values()])


class _Rejecting:
    """A judge that rejects every answer, in both forms of verdict."""

    name = "rehearsal/judge"

    async def complete(self, request: Request) -> Completion:
        return Completion(text='{"score": 0, "reason": "", "is_correct": false}', input_tokens=0, output_tokens=0)


class _Characters:
    """The embedder `hash` as a server, whose tokens are characters."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(HashEmbedder().encode(texts).astype(np.float64), input_tokens=sum(map(len, texts)))


class _Taken(NamedTuple):
    """What a tier takes; `fixed` is the share of input that may be written into a cache."""

    calls: Amounts
    given: Amounts
    said: Amounts
    fixed: float = 0.0


def estimate(config: Config, *, data_dir: Path | None, workers: int, prices: Prices, batches: bool = False) -> Estimate:
    """Return what a run of this configuration will take, with or without batches. Only embedded models are called.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds.
        PrerequisiteError: A data set is missing.
    """
    config = with_own_models(config)
    check_models(execution=config.execution, guidance=config.guidance, judge=config.judge)
    own, rehearsed = own_models(config.benchmark), min(config.iterations, len(ACTIONS) + 2)
    models = Models(
        open_model(own.execution, "execution"),
        open_model(own.guidance, "guidance"),
        _Rejecting() if config.judge else None,
        ServedEmbedder(config.embedder, _Characters()) if metered(config.embedder) else None,
    )
    short = {"iterations": rehearsed, "early_stopping": False, "judge": "", "teacher_sees": "solutions"}
    # Whether corrections are asked for depends on what the real teacher sees.
    short["cases"] = config.cases and config.teacher_sees != "errors"
    changed, how = msgspec.structs.replace(models.named_in(config), **short), Runtime(workers=workers)
    with TemporaryDirectory() as folder:
        evolve(changed, runs_dir=folder, data_dir=data_dir, runtime=how, run_id="rehearsal", models=models)
        reader = LogReader(find_run(Path(folder), "rehearsal").log_path)
        read: _Log = {v.ModelCalled: _calls(reader), **frames(reader, _READS)}
    between = pl.when(pl.col("iteration").is_between(1, rehearsed - 2)).then(
        (config.iterations - 2) / max(1, rehearsed - 2)
    )
    log = {kind: rows.with_columns(weight=between.otherwise(1.0)) for kind, rows in read.items()}
    taken = {
        "execution": _asked(log, "execution", config.execution, own.execution, _answering(log)),
        "guidance": _asked(log, "guidance", config.guidance, own.guidance, _guiding(log, config)),
        "judge": _judging(log, config.judge) if config.judge else None,
        "embedder": _embedding(log, config.iterations, rehearsed) if models.embedder else None,
    }
    batched = {"guidance": _batched(log), "judge": 1.0} if batches else {}
    tiers = (
        _priced(tier, getattr(config, tier), each, prices, batched.get(tier, 0.0))
        for tier, each in taken.items()
        if each
    )
    return Estimate(benchmark=config.benchmark, iterations=config.iterations, rehearsed=rehearsed, tiers=tuple(tiers))


def _calls(reader: LogReader) -> pl.DataFrame:
    """Return the calls with the characters of prompt, system message and reply, and the most tokens of the reply."""
    requests, rows = Requests(reader), list[dict[str, object]]()
    for call in reader.of(v.ModelCalled):
        sent = requests.request(call.sent) or Request(prompt="")
        row = {name: getattr(call, name) for name in ("iteration", "tier", "purpose", "input_tokens", "output_tokens")}
        lengths = {"prompt": len(sent.text + sent.reply_schema), "system": len(sent.system), "reply": len(call.text)}
        rows.append({**row, **lengths, "most": sent.max_tokens, "question_id": call.about.split("/")[0]})
    return pl.DataFrame(rows)


def _total(rows: pl.DataFrame, amount: pl.Expr = _ONE) -> float:
    """Return an amount of these rows, by default their number, in the whole run."""
    return float(rows.select((amount * pl.col("weight")).sum()).item())


def _answering(log: _Log) -> Amounts:
    planned, calls = log[v.QuestionPlanned], log[v.ModelCalled].filter(tier="execution")
    longest = max(calls.group_by(_QUESTION).len()["len"], default=1)
    sure = planned.filter((pl.col("iteration") < 0) | pl.col("purpose").is_in(["fresh", "revisit"]))
    return np.array([_total(sure), _total(calls), _total(planned) * longest])


def _guiding(log: _Log, config: Config) -> Amounts:
    """Return at least what is asked outside EVOLVE, at most every request of EVOLVE too, all with all their repairs."""
    calls = log[v.ModelCalled].filter(tier="guidance")
    asking = set(log[v.ActionTaken].filter(pl.col("outcome") != SWITCHED_OFF)["action"])
    turns = (name for k in range(config.iterations) for name in with_companions(ACTIONS[k % len(ACTIONS)]))
    sure, actions = _total(calls.filter(~_IN_EVOLVE)), sum(name in asking for name in turns)
    return np.array([sure, _total(calls), (1 + MOST_REPAIRS) * (sure + config.targets * actions)])


def _batched(log: _Log) -> float:
    """Return EVOLVE's share of the guidance tokens: its calls go in batches."""
    calls, tokens = log[v.ModelCalled].filter(tier="guidance"), pl.col("input_tokens") + pl.col("output_tokens")
    return _total(calls.filter(_IN_EVOLVE), tokens) / max(1.0, _total(calls, tokens))


def _asked(log: _Log, tier: Tier, model: str, own: str, calls: Amounts) -> _Taken:
    """Return the tokens of so many calls: as counted for the benchmark's own model, else judging by their lengths."""
    direct = log[v.QuestionPlanned].filter(routing_arm="direct").select(*_QUESTION, usual=_DIRECT_TOKENS).unique()
    made = log[v.ModelCalled].filter(tier=tier).join(direct, on=_QUESTION, how="left")
    sums = {name: _total(made, pl.col(name)) for name in ("prompt", "system", "reply", "input_tokens", "output_tokens")}
    number = max(1.0, _total(made))
    given, said = (np.full(3, sums[name]) for name in ("input_tokens", "output_tokens"))
    if model != own:
        given, said = sums["prompt"] / _CHARACTERS, sums["reply"] / _CHARACTERS
        most, usual = RAISE * _total(made, pl.col("most")), _total(made, pl.col("usual").fill_null(_REPLY_TOKENS))
        said[1] = max(said[1], min(most, usual)) + _thought(model) * _total(made)
        said[2] = max(most, said[1])
    # Prompts grow with what is learned: at most all are as long as those of the iteration with the longest.
    lengths = made.filter(pl.col("iteration") >= 0).group_by("iteration").agg(pl.col("input_tokens").mean())
    mean = sums["input_tokens"] / number
    given[2] *= max(1.0, max(lengths["input_tokens"], default=mean) / mean) if mean else 1.0
    return _Taken(calls, given * calls / number, said * calls / number, sums["system"] / max(1.0, sums["prompt"]))


def _thought(model: str) -> int:
    """Return the tokens that a model is told to think in a reply."""
    thinking = parse_spec(model).thinking()
    return thinking if isinstance(thinking, int) else _THOUGHT_TOKENS * (thinking == "on")


def _judging(log: _Log, model: str) -> _Taken:
    """Return the calls about answers that the rule does not accept; at most one per answer, with all its repairs."""
    made = log[v.ModelCalled].filter(tier="judge")
    calls = np.array([0, _total(made), _total(log[v.AnswerJudged]) * (1 + MOST_REPAIRS) * (len(made) > 0)])
    prompt, reply = made["prompt"].sum() / max(1, len(made)), [20.0, 80.0 + _thought(model), RAISE * MAX_TOKENS]
    return _Taken(calls, prompt / _CHARACTERS * calls, np.array(reply) * calls, fixed=1.0)


def _embedding(log: _Log, iterations: int, rehearsed: int) -> _Taken:
    """Return what the rehearsal embeds, which does not depend on the embedder, with the bounds if each iteration takes
    as little as the least rehearsed one, or as much as the largest."""
    made = log[v.EmbeddingCalled]
    sums = made.group_by("iteration").agg(pl.len(), pl.col("input_tokens").sum())
    each = (
        pl.DataFrame({"iteration": range(-1, rehearsed)}).join(sums, "iteration", "left").fill_null(0).sort("iteration")
    )

    def bounds(name: str, expected: float) -> Amounts:
        opening, *turns = each[name]
        return np.array([opening + min(turns) * iterations, expected, opening + max(turns) * iterations])

    characters = bounds("input_tokens", _total(made, pl.col("input_tokens")))
    return _Taken(bounds("len", _total(made)), characters / _CHARACTERS, np.zeros(3))


def _priced(tier: str, model: str, taken: _Taken, prices: Prices, batched: float) -> TierEstimate:
    """Price what a tier takes; `batched` is the share of its tokens in batches, which the high estimate repeats."""
    rate, usd, told = prices.rate(model), None, ""
    if rate:
        factor = 1.0 - batched * (1.0 - rate.batch)
        each = zip(taken.given, taken.said, (0.0, 0.0, taken.fixed), (factor, factor, 1.0), strict=True)
        usd = _bounds(
            rate.cost(given, 0, said, cache_write_tokens=part * given) * times for given, said, part, times in each
        )
        told = rate.told
        if batched and rate.batch < 1.0:
            told += f"; {batched:.0%} of the tokens in batches at {rate.batch:g} of the price"
    calls, given, said = map(_bounds, taken[:3])
    return TierEstimate(
        tier=tier, model=model, calls=calls, input_tokens=given, output_tokens=said, usd=usd, price=told
    )


def _bounds(amounts: Iterable[float]) -> Bounds:
    return Bounds(*map(float, amounts))
