"""`evolve --dry-run`: what a run will take in calls, tokens and dollars, by rehearsing its first iterations.

Rules
    - The rehearsal is the loop itself, with the benchmark's embedded models in the place of those that cost something,
      in a folder that is thrown away: whatever the loop plans is what is counted.
    - Later iterations are taken to be like the rehearsed ones; as many are rehearsed as EVOLVE has actions in rotation.
    - An embedder that is served is played by `hash` behind a server of its own, asked in the same batches.
    - Where there is a judge, one that holds everything wrong plays it: it is asked what the run's will be asked.
    - A model that the rehearsal has itself is counted as it counts. Of another the tokens are told from lengths: those
      of a prompt from its characters, those of a reply between the stand-in's and the most that is asked for.
    - Nothing is taken to come from a cache. The high estimate has every fixed part written into one, and every call of
      a batch made again by itself, at full price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.benchmarks.registry import own_models
from mage_es.engine.budget import Limits
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.embedders.served import Embedded, ServedEmbedder, request_of
from mage_es.engine.estimates import Estimate, Range, TierEstimate
from mage_es.engine.evolution import evolve
from mage_es.engine.guiding import MOST_REPAIRS
from mage_es.engine.models.registry import Tier, check_models, open_model
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.pricing import Prices
from mage_es.engine.rules.rotation import ACTIONS, with_companions
from mage_es.engine.runs import find_run
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models
from mage_es.events.errors import BudgetReached
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import AnswerJudged, EmbeddingCalled, Event, ModelCalled, QuestionPlanned

_CHARACTERS_PER_TOKEN = Range(low=6.0, expected=4.0, high=2.5)
"""Of prose in a Latin script: tokenizers and languages differ by so much. `low` makes the fewest tokens."""
_REPLY_TOKENS = 250
"""Tokens of a worked answer to a school problem, by a model that thinks aloud."""
_JUDGE_REPLY = Range(low=20, expected=80, high=512)
"""Tokens of what it replies."""


class _Sizes(NamedTuple):
    """Characters of a call's prompt, of its fixed part, and of its reply; the most tokens that its reply may have."""

    prompt: int
    fixed: int
    reply: int
    most: int


class _StandIn:
    """An embedded model, and the sizes of what is said to it and by it, by the hash of the request."""

    def __init__(self, name: str, tier: Tier) -> None:
        self._model = open_model(name, tier)
        self.name = self._model.name
        self.sizes: dict[str, _Sizes] = {}

    async def complete(self, request: Request) -> Completion:
        """Return the embedded model's reply."""
        reply = await self._model.complete(request)
        prompt = len(request.prompt) + len(request.reply_schema)
        self.sizes[request.sha256] = _Sizes(prompt, request.fixed, len(reply.text), request.max_tokens)
        return reply


class _JudgeStandIn:
    """A judge that holds every answer wrong, in both forms of a verdict, and the characters of what it was asked."""

    name = "rehearsal/judge"

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    async def complete(self, request: Request) -> Completion:
        """Return the verdict."""
        self.asked[request.sha256] = len(request.prompt) + len(request.reply_schema)
        text = '{"score": 0, "reason": "", "is_correct": false}'
        return Completion(text=text, input_tokens=0, output_tokens=0)


class _EmbedderStandIn:
    """The embedder `hash` as a server has it, and the characters of each call, by the hash of the request."""

    def __init__(self) -> None:
        self._embedder = HashEmbedder()
        self.sizes: dict[str, int] = {}

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of `hash`; of tokens it knows nothing."""
        self.sizes[request_of(texts).sha256] = sum(map(len, texts))
        return Embedded(self._embedder.encode(texts).astype(np.float64), input_tokens=0)


class _Rehearsal(NamedTuple):
    """What the log of a rehearsal says; how many iterations the run has, and how many of them were rehearsed."""

    calls: Sequence[ModelCalled]
    planned: Sequence[QuestionPlanned]
    judged: Sequence[AnswerJudged]
    embedded: Sequence[EmbeddingCalled]
    iterations: int
    rehearsed: int

    def total(self, events: Iterable[ModelCalled | QuestionPlanned | AnswerJudged]) -> float:
        """Return how many of such events the whole run will have."""
        return sum(1.0 if event.iteration < 0 else self.weight for event in events)

    @property
    def weight(self) -> float:
        """Return how many iterations one of the rehearsed stands for."""
        return self.iterations / self.rehearsed

    def embedding(self, amount: Callable[[EmbeddingCalled], float]) -> Range:
        """Return an amount of the embedder's calls in the whole run, if each later iteration takes as little as the
        least, as much as the mean, or as much as the greediest of the rehearsed."""
        taken = dict.fromkeys(range(-1, self.rehearsed), 0.0)
        for call in self.embedded:
            taken[call.iteration] += amount(call)
        opening = taken.pop(-1)
        least, most, mean = min(taken.values()), max(taken.values()), sum(taken.values()) / len(taken)
        low, expected, high = (opening + each * self.iterations for each in (least, mean, most))
        return Range(low=low, expected=expected, high=high)


def estimate(config: Config, *, data_dir: Path | None, workers: int, prices: Prices, batches: bool = False) -> Estimate:
    """Return what a run of this configuration will take, with or without batches. No model is called but embedded ones.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds.
        PrerequisiteError: A data set is missing.
    """
    check_models(execution=config.execution, guidance=config.guidance, judge=config.judge)
    own, rehearsed = own_models(config.benchmark), min(config.iterations, len(ACTIONS))
    execution, guidance = _StandIn(own.execution, "execution"), _StandIn(own.guidance, "guidance")
    served = _EmbedderStandIn() if metered(config.embedder) else None
    embedder = ServedEmbedder(config.embedder, served) if served else None
    judge = _JudgeStandIn() if config.judge else None
    with TemporaryDirectory() as folder:
        models = Models(execution, guidance, judge, embedder)
        _rehearse(config, models, rehearsed, Path(folder), data_dir, workers)
        reader = LogReader(find_run(Path(folder), "rehearsal").log_path)
        rehearsal = _read(reader, config.iterations, rehearsed)
    batched = _batched_share(rehearsal) if batches else 0.0
    tiers = [
        _tier("execution", config.execution, execution, rehearsal, _execution_calls(rehearsal), prices),
        _tier("guidance", config.guidance, guidance, rehearsal, _guidance_calls(rehearsal, config), prices, batched),
    ]
    if judge:
        tiers.append(_judge(config.judge, judge, rehearsal, prices, 1.0 if batches else 0.0))
    if served:
        tiers.append(_embedder(config.embedder, served, rehearsal, prices))
    return Estimate(benchmark=config.benchmark, iterations=config.iterations, rehearsed=rehearsed, tiers=tuple(tiers))


def _rehearse(
    config: Config, models: Models, iterations: int, folder: Path, data_dir: Path | None, workers: int
) -> None:
    named = {"execution": models.execution.name, "guidance": models.guidance.name if models.guidance else ""}
    try:
        evolve(
            msgspec.structs.replace(config, **named, judge=""),
            runs_dir=folder,
            data_dir=data_dir,
            runtime=Runtime(workers=workers, limits=Limits(max_iterations=iterations)),
            run_id="rehearsal",
            models=models,
        )
    except BudgetReached:
        return  # so ends a rehearsal of less than the whole run


def _read(reader: LogReader, iterations: int, rehearsed: int) -> _Rehearsal:
    types: set[type[Event]] = {ModelCalled, QuestionPlanned, AnswerJudged, EmbeddingCalled}
    events = [record.event for record in reader.records(types)]
    return _Rehearsal(
        [event for event in events if isinstance(event, ModelCalled)],
        [event for event in events if isinstance(event, QuestionPlanned)],
        [event for event in events if isinstance(event, AnswerJudged)],
        [event for event in events if isinstance(event, EmbeddingCalled)],
        iterations,
        rehearsed,
    )


def _execution_calls(rehearsal: _Rehearsal) -> Range:
    """At least one call for each question, at most as many as the longest course of the rehearsal had."""
    calls = [call for call in rehearsal.calls if call.tier == "execution"]
    questions = rehearsal.total(rehearsal.planned)
    longest = max(Counter((c.iteration, c.purpose, c.about.split("/")[0]) for c in calls).values(), default=1)
    return Range(low=questions, expected=rehearsal.total(calls), high=questions * longest)


def _guidance_calls(rehearsal: _Rehearsal, config: Config) -> Range:
    """At least ontology and plans; at most everything that EVOLVE can ask for, each with every repair."""
    plans = 1 + config.iterations
    actions = sum(len(with_companions(ACTIONS[k % len(ACTIONS)])) for k in range(config.iterations))
    expected = rehearsal.total(call for call in rehearsal.calls if call.tier == "guidance")
    return Range(low=plans, expected=expected, high=(1 + MOST_REPAIRS) * (plans + config.targets * actions))


def _batched_share(rehearsal: _Rehearsal) -> float:
    """Return the share of the guidance tier's tokens that EVOLVE takes: its calls go in batches."""
    purposes = {template for template, _ in TEMPLATES.values()}
    guidance = [call for call in rehearsal.calls if call.tier == "guidance"]
    evolve = [call for call in guidance if call.purpose in purposes]
    amounts = [
        sum(call.input_tokens + call.output_tokens for call in calls if call.iteration >= 0) * rehearsal.weight
        + sum(call.input_tokens + call.output_tokens for call in calls if call.iteration < 0)
        for calls in (evolve, guidance)
    ]
    return amounts[0] / amounts[1] if amounts[1] else 0.0


def _tier(
    tier: Tier,
    model: str,
    stand_in: _StandIn,
    rehearsal: _Rehearsal,
    calls: Range,
    prices: Prices,
    batched: float = 0.0,
) -> TierEstimate:
    made = [call for call in rehearsal.calls if call.tier == tier]
    sizes = [stand_in.sizes[call.request_sha256] for call in made]
    if model == stand_in.name:
        given, said = (Range.of(sum(getattr(c, name) for c in made)) for name in ("input_tokens", "output_tokens"))
    else:
        given = _tokens(sum(size.prompt for size in sizes))
        replies, most = _tokens(sum(size.reply for size in sizes)), sum(size.most for size in sizes)
        usual = max(replies.expected, min(most, _REPLY_TOKENS * len(sizes)))
        said = Range(low=replies.low, expected=usual, high=max(most, usual))
    each = max(1, len(made))
    fixed = sum(size.fixed for size in sizes) / max(1, sum(size.prompt for size in sizes))
    given, said = given.times(calls, 1 / each), said.times(calls, 1 / each)
    return _priced(tier, model, calls, given, said, prices, fixed=fixed, batched=batched)


def _judge(model: str, stand_in: _JudgeStandIn, rehearsal: _Rehearsal, prices: Prices, batched: float) -> TierEstimate:
    """A judge is asked where the rule has not the last word; at most about every answer, with every repair."""
    made = [call for call in rehearsal.calls if call.tier == "judge"]
    most = rehearsal.total(rehearsal.judged) * (1 + MOST_REPAIRS)
    calls = Range(low=0, expected=rehearsal.total(made), high=most if made else 0)
    prompts = _tokens(sum(stand_in.asked[call.request_sha256] for call in made))
    given, said = prompts.times(calls, 1 / max(1, len(made))), _JUDGE_REPLY.times(calls, 1.0)
    return _priced("judge", model, calls, given, said, prices, fixed=1.0, batched=batched)


def _embedder(model: str, stand_in: _EmbedderStandIn, rehearsal: _Rehearsal, prices: Prices) -> TierEstimate:
    """An embedder is asked for the vectors of the same texts, whatever it makes of them."""
    calls = rehearsal.embedding(lambda call: 1.0)
    characters = rehearsal.embedding(lambda call: stand_in.sizes[call.request_sha256])
    given = Range(
        low=characters.low / _CHARACTERS_PER_TOKEN.low,
        expected=characters.expected / _CHARACTERS_PER_TOKEN.expected,
        high=characters.high / _CHARACTERS_PER_TOKEN.high,
    )
    return _priced("embedder", model, calls, given, Range.of(0.0), prices, fixed=0.0, batched=0.0)


def _priced(
    tier: Tier | Literal["embedder"],
    model: str,
    calls: Range,
    given: Range,
    said: Range,
    prices: Prices,
    *,
    fixed: float,
    batched: float,
) -> TierEstimate:
    """Price tokens: `fixed` is the share of those given that may be written into a cache, `batched` that in batches."""
    rate = prices.rate(model)
    usd, told = None, ""
    if rate:
        factor = 1.0 - batched * (1.0 - rate.batch)
        usd = Range(
            low=rate.cost(given.low, 0, said.low) * factor,
            expected=rate.cost(given.expected, 0, said.expected) * factor,
            high=rate.cost(given.high, 0, said.high, cache_write_tokens=fixed * given.high),
        )
        told = rate.told
        if batched and rate.batch < 1.0:
            told += f"; {batched:.0%} of the tokens in batches at {rate.batch:g} of the price"
    return TierEstimate(
        tier=tier, model=model, calls=calls, input_tokens=given, output_tokens=said, usd=usd, price=told
    )


def _tokens(characters: int) -> Range:
    low, expected, high = (characters / each for each in _CHARACTERS_PER_TOKEN.values())
    return Range(low=low, expected=expected, high=high)
