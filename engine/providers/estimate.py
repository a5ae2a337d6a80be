"""`evolve --dry-run`: the calls, tokens and dollars that a run will take, from a short rehearsal.

Rules
    - The rehearsal is a whole run in a temporary folder, a short one, with the benchmark's embedded models instead of
      paid ones. Its first iteration, where nothing was learned, and its last, which asks all anchors, count once; those
      between, as many as EVOLVE rotates actions, stand for all others. The run may end early; the rehearsal does not.
    - A question to learn from takes a call at least, a later anchor none if it sees nothing new, is no longer needed,
      or is recalled; at most every planned question takes the longest course that was rehearsed, and has a prompt as
      long as those of the iteration with the longest.
    - `hash` stands in for a served embedder, with the same batches; a judge that rejects everything stands in for the
      judge.
    - Tokens of an embedded model are counted. Those of another are estimated: a prompt's from its characters, a reply's
      between the stand-in's and the raised limit of the request, depending on whether only the answer is asked for.
      Thinking is added to the expected reply if its spec says `thinking=on` or a number; a model may also think on its
      own, which only the maximum covers.
    - No tokens come from a cache. The high estimate writes every fixed part into one, and repeats every batched call
      on its own, at full price.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar, get_args

import msgspec
import numpy as np

from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.benchmarks.registry import own_models, with_own_models
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.embedders.served import Embedded, ServedEmbedder, request_of
from mage_es.engine.models.registry import Models, check_models, open_model
from mage_es.engine.rules.rotation import ACTIONS, SWITCHED_OFF, with_companions
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Model, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import (
    ActionTaken,
    AnswerJudged,
    EmbeddingCalled,
    ModelCalled,
    Purpose,
    QuestionPlanned,
    Tier,
)


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """An amount with its likely minimum and maximum."""

    low: float
    expected: float
    high: float

    @classmethod
    def of(cls, *amounts: float) -> Bounds:
        """Return three amounts as bounds, or one that is certain."""
        low, expected, high = amounts if len(amounts) == 3 else amounts * 3
        return cls(low=low, expected=expected, high=high)

    def values(self) -> tuple[float, float, float]:
        return self.low, self.expected, self.high

    def times(self, other: Bounds, factor: float) -> Bounds:
        return Bounds.of(*(mine * theirs * factor for mine, theirs in zip(self.values(), other.values(), strict=True)))


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


_CHARACTERS_PER_TOKEN = Bounds(low=6.0, expected=4.0, high=2.5)
"""For Latin prose, across tokenizers and languages; `low` gives the fewest tokens."""
_REPLY_TOKENS, _DIRECT_TOKENS = 250, 10
"""Tokens of a worked answer to a school problem with its reasoning, and of a bare answer."""
_THOUGHT_TOKENS = 900
"""Median tokens that a small model thinks about such a problem."""
_LEARNED_FROM: frozenset[Purpose] = frozenset({"fresh", "revisit"})
_IN_EVOLVE = frozenset(template for template, _ in TEMPLATES.values())
_JUDGE_REPLY = Bounds(low=20, expected=80, high=RAISE * MAX_TOKENS)


class _Sizes(NamedTuple):
    """Characters of a call's prompt, of its system message and of its reply; the maximum tokens of the reply."""

    prompt: int
    system: int = 0
    reply: int = 0
    most: int = 0


_SizesOf = dict[str, _Sizes]
"""By the hash of a request."""


class _Measured:
    """A model, which notes the sizes of its prompts and replies."""

    def __init__(self, model: Model, sizes: _SizesOf) -> None:
        self.name, self._model, self._sizes = model.name, model, sizes

    async def complete(self, request: Request) -> Completion:
        reply = await self._model.complete(request)
        prompt = len(request.text) + len(request.reply_schema)
        self._sizes[request.sha256] = _Sizes(prompt, len(request.system), len(reply.text), request.max_tokens)
        return reply


class _Rejecting:
    """A judge that rejects every answer, in both forms of verdict."""

    name = "rehearsal/judge"

    async def complete(self, request: Request) -> Completion:
        return Completion(text='{"score": 0, "reason": "", "is_correct": false}', input_tokens=0, output_tokens=0)


class _MeasuredEmbedder(NamedTuple):
    """The embedder `hash` as a server, which notes the sizes of what it embeds."""

    sizes: _SizesOf
    embedder: HashEmbedder = HashEmbedder()

    def embed(self, texts: Sequence[str]) -> Embedded:
        self.sizes[request_of(texts).sha256] = _Sizes(sum(map(len, texts)))
        return Embedded(self.embedder.encode(texts).astype(np.float64), input_tokens=0)


_Counted = TypeVar("_Counted", ModelCalled, QuestionPlanned, AnswerJudged, EmbeddingCalled)


class _Rehearsal:
    """What a log says of a rehearsal of some `iterations` in fewer."""

    def __init__(self, reader: LogReader, sizes: _SizesOf, iterations: int, rehearsed: int) -> None:
        self.sizes, self.iterations, self.rehearsed = sizes, iterations, rehearsed
        calls = list(reader.of(ModelCalled))
        self.calls = {tier: [call for call in calls if call.tier == tier] for tier in get_args(Tier)}
        self.planned, self.judged = list(reader.of(QuestionPlanned)), list(reader.of(AnswerJudged))
        self.embedded = list(reader.of(EmbeddingCalled))
        # The actions of EVOLVE that guidance can be asked for.
        self.actions = {taken.action for taken in reader.of(ActionTaken) if taken.outcome != SWITCHED_OFF}

    def total(self, events: Iterable[_Counted], amount: Callable[[_Counted], float] = lambda event: 1.0) -> float:
        """Return an amount of these events, by default their number, in the whole run."""
        return sum(self.weight(event.iteration) * amount(event) for event in events)

    def size_of(self, call: ModelCalled | EmbeddingCalled) -> _Sizes:
        return self.sizes[call.request_sha256]

    def weight(self, iteration: int) -> float:
        """Return how many iterations of the run one rehearsed iteration stands for."""
        if 0 < iteration < self.rehearsed - 1:
            return (self.iterations - 2) / (self.rehearsed - 2)
        return 1.0

    def embedding(self, amount: Callable[[EmbeddingCalled], float]) -> Bounds:
        """Return an amount for the whole run, with its bounds if each iteration takes as little as the least rehearsed
        one, or as much as the largest."""
        taken = dict.fromkeys(range(-1, self.rehearsed), 0.0)
        for call in self.embedded:
            taken[call.iteration] += amount(call)
        opening = taken.pop(-1)
        low, high = (opening + each * self.iterations for each in (min(taken.values()), max(taken.values())))
        return Bounds.of(low, self.total(self.embedded, amount), high)


def estimate(config: Config, *, data_dir: Path | None, workers: int, prices: Prices, batches: bool = False) -> Estimate:
    """Return what a run of this configuration will take, with or without batches. Only embedded models are called.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds.
        PrerequisiteError: A data set is missing.
    """
    config = with_own_models(config)
    check_models(execution=config.execution, guidance=config.guidance, judge=config.judge)
    own, rehearsed = own_models(config.benchmark), min(config.iterations, len(ACTIONS) + 2)
    sizes: _SizesOf = {}
    models = Models(
        _Measured(open_model(own.execution, "execution"), sizes),
        _Measured(open_model(own.guidance, "guidance"), sizes),
        _Measured(_Rejecting(), sizes) if config.judge else None,
        ServedEmbedder(config.embedder, _MeasuredEmbedder(sizes)) if metered(config.embedder) else None,
    )
    short = {"iterations": rehearsed, "early_stopping": False, "judge": "", "teacher_sees": "solutions"}
    # Whether corrections are asked for depends on what the real teacher sees.
    short["cases"] = config.cases and config.teacher_sees != "errors"
    with TemporaryDirectory() as folder:
        evolve(
            msgspec.structs.replace(models.named_in(config), **short),
            runs_dir=folder,
            data_dir=data_dir,
            runtime=Runtime(workers=workers),
            run_id="rehearsal",
            models=models,
        )
        reader = LogReader(find_run(Path(folder), "rehearsal").log_path)
        rehearsal = _Rehearsal(reader, sizes, config.iterations, rehearsed)
    batched = _batched_share(rehearsal) if batches else 0.0
    guided = _guidance_calls(rehearsal, config)
    tiers = [
        _tier("execution", config.execution, own.execution, rehearsal, _execution_calls(rehearsal), prices, 0.0),
        _tier("guidance", config.guidance, own.guidance, rehearsal, guided, prices, batched),
    ]
    if config.judge:
        tiers.append(_judge(config.judge, rehearsal, prices, 1.0 if batches else 0.0))
    if models.embedder:
        tiers.append(_embedder(config.embedder, rehearsal, prices))
    return Estimate(benchmark=config.benchmark, iterations=config.iterations, rehearsed=rehearsed, tiers=tuple(tiers))


def _execution_calls(rehearsal: _Rehearsal) -> Bounds:
    calls = rehearsal.calls["execution"]
    longest = max(Counter(map(_question, calls)).values(), default=1)
    sure = (plan for plan in rehearsal.planned if plan.iteration < 0 or plan.purpose in _LEARNED_FROM)
    return Bounds.of(rehearsal.total(sure), rehearsal.total(calls), rehearsal.total(rehearsal.planned) * longest)


def _question(call: ModelCalled) -> tuple[int, str, str]:
    return call.iteration, call.purpose, call.about.split("/")[0]


def _guidance_calls(rehearsal: _Rehearsal, config: Config) -> Bounds:
    """Return at least what is asked outside EVOLVE, at most every request of EVOLVE too, all with all their repairs."""
    calls = rehearsal.calls["guidance"]
    sure = rehearsal.total(call for call in calls if call.purpose not in _IN_EVOLVE)
    turns = (name for k in range(config.iterations) for name in with_companions(ACTIONS[k % len(ACTIONS)]))
    actions = sum(name in rehearsal.actions for name in turns)
    return Bounds.of(sure, rehearsal.total(calls), (1 + MOST_REPAIRS) * (sure + config.targets * actions))


def _batched_share(rehearsal: _Rehearsal) -> float:
    """Return EVOLVE's share of the guidance tokens: its calls go in batches."""
    guidance = rehearsal.calls["guidance"]
    evolve = [call for call in guidance if call.purpose in _IN_EVOLVE]
    part, whole = (rehearsal.total(calls, lambda c: c.input_tokens + c.output_tokens) for calls in (evolve, guidance))
    return part / whole if whole else 0.0


def _tier(
    tier: Tier, model: str, own: str, rehearsal: _Rehearsal, calls: Bounds, prices: Prices, batched: float
) -> TierEstimate:
    made = rehearsal.calls[tier]

    def total(amount: Callable[[_Sizes], float]) -> float:
        return rehearsal.total(made, lambda call: amount(rehearsal.size_of(call)))

    if model == own:
        given = Bounds.of(rehearsal.total(made, lambda call: call.input_tokens))
        said = Bounds.of(rehearsal.total(made, lambda call: call.output_tokens))
    else:
        given, replies = (_tokens(Bounds.of(total(amount))) for amount in (lambda s: s.prompt, lambda s: s.reply))
        most = RAISE * total(lambda sizes: sizes.most)
        worked = min(most, rehearsal.total(made, _worked(rehearsal)))
        usual = max(replies.expected, worked) + _thought(model) * rehearsal.total(made)
        said = Bounds.of(replies.low, usual, max(most, usual))
    each = max(1.0, rehearsal.total(made))
    fixed = total(lambda sizes: sizes.system) / max(1.0, total(lambda sizes: sizes.prompt))
    given, said = given.times(calls, 1 / each), said.times(calls, 1 / each)
    given = msgspec.structs.replace(given, high=given.high * _growth(made, rehearsal))
    return _priced(tier, model, calls, given, said, prices, fixed=fixed, batched=batched)


def _growth(calls: Sequence[ModelCalled], rehearsal: _Rehearsal) -> float:
    """Return how much longer than average the prompts of one iteration are: they grow with what is learned."""
    lengths: dict[int, list[int]] = {}
    for call in calls:
        lengths.setdefault(call.iteration, []).append(call.input_tokens)
    mean = rehearsal.total(calls, lambda call: call.input_tokens) / max(1.0, rehearsal.total(calls))
    longest = max((sum(each) / len(each) for name, each in lengths.items() if name >= 0), default=mean)
    return max(1.0, longest / mean) if mean else 1.0


def _worked(rehearsal: _Rehearsal) -> Callable[[ModelCalled], float]:
    """Return a function that gives the usual length of the reply to a call."""
    direct = {
        (plan.iteration, plan.purpose, plan.question_id) for plan in rehearsal.planned if plan.routing_arm == "direct"
    }
    return lambda call: _DIRECT_TOKENS if _question(call) in direct else _REPLY_TOKENS


def _thought(model: str) -> int:
    """Return the tokens that a model is told to think in a reply."""
    thinking = parse_spec(model).thinking()
    return thinking if isinstance(thinking, int) else _THOUGHT_TOKENS * (thinking == "on")


def _judge(model: str, rehearsal: _Rehearsal, prices: Prices, batched: float) -> TierEstimate:
    """Return the calls about answers that the rule does not accept; at most one per answer, with all its repairs."""
    made = rehearsal.calls["judge"]
    most = rehearsal.total(rehearsal.judged) * (1 + MOST_REPAIRS)
    calls = Bounds.of(0, rehearsal.total(made), most if made else 0)
    prompts = _tokens(Bounds.of(sum(rehearsal.size_of(call).prompt for call in made)))
    reply = msgspec.structs.replace(_JUDGE_REPLY, expected=_JUDGE_REPLY.expected + _thought(model))
    given, said = prompts.times(calls, 1 / max(1, len(made))), reply.times(calls, 1.0)
    return _priced("judge", model, calls, given, said, prices, fixed=1.0, batched=batched)


def _embedder(model: str, rehearsal: _Rehearsal, prices: Prices) -> TierEstimate:
    """Return the calls of the rehearsal: the texts to embed do not depend on the embedder."""
    calls = rehearsal.embedding(lambda call: 1.0)
    characters = rehearsal.embedding(lambda call: rehearsal.size_of(call).prompt)
    return _priced("embedder", model, calls, _tokens(characters), Bounds.of(0.0), prices, fixed=0.0, batched=0.0)


def _priced(
    tier: Tier, model: str, calls: Bounds, given: Bounds, said: Bounds, prices: Prices, *, fixed: float, batched: float
) -> TierEstimate:
    """Price tokens: `fixed` is the share of input that may be written into a cache, `batched` the share in batches."""
    rate = prices.rate(model)
    usd, told = None, ""
    if rate:
        factor = 1.0 - batched * (1.0 - rate.batch)
        usd = Bounds.of(
            rate.cost(given.low, 0, said.low) * factor,
            rate.cost(given.expected, 0, said.expected) * factor,
            rate.cost(given.high, 0, said.high, cache_write_tokens=fixed * given.high),
        )
        told = rate.told
        if batched and rate.batch < 1.0:
            told += f"; {batched:.0%} of the tokens in batches at {rate.batch:g} of the price"
    return TierEstimate(
        tier=tier, model=model, calls=calls, input_tokens=given, output_tokens=said, usd=usd, price=told
    )


def _tokens(characters: Bounds) -> Bounds:
    pairs = zip(characters.values(), _CHARACTERS_PER_TOKEN.values(), strict=True)
    return Bounds.of(*(amount / each for amount, each in pairs))
