"""`evolve --dry-run`: the calls, tokens and dollars that a run will take, from a short rehearsal.

Rules
    - The rehearsal is a complete but short run in a temporary folder, with the benchmark's embedded models instead of
      paid ones. Its first iteration, which begins with nothing learned, and its last, which asks all anchors, count
      once. The iterations in between, one for each action that EVOLVE rotates through, represent all others. The run
      itself may end early; the rehearsal does not.
    - Low: a question to learn from takes one call, and a later anchor takes none if it sees nothing new, is no longer
      needed, or is recalled. High: every planned question takes the longest course that was rehearsed, with a prompt as
      long as those of the iteration that had the longest prompts.
    - The embedder `hash` replaces a served embedder, with the same batches, and counts characters; the judge is
      replaced by one that rejects everything.
    - Tokens of an embedded model are counted. Those of any other model are estimated: a prompt's from its characters; a
      reply's between the stand-in's reply and the request's raised limit, depending on whether only the answer is asked
      for. Thinking is added to the expected reply if the model's spec says `thinking=on` or a number. A model may also
      think without being asked to, which only the maximum covers.
    - No tokens are assumed to come from a cache. The high estimate also assumes that every fixed part is written to a
      cache, and that every batched call is repeated by itself at full price.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.askings.requests import Requests
from mage_es.engine.benchmarks.registry import own_models, with_own_models
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import metered
from mage_es.engine.embedders.served import Embedded, ServedEmbedder
from mage_es.engine.models.registry import Models, check_models, open_model
from mage_es.engine.rules.rotation import ACTIONS, SWITCHED_OFF, action_of, with_companions
from mage_es.engine.run.asking_price import JUDGED, thought
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import MAX_TOKENS, RAISE, Completion, Request
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.verbs.evolve import evolve
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader


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

    @property
    def usd(self) -> Bounds | None:
        """The dollars of all tiers, None if a price is unknown."""
        known = [msgspec.structs.astuple(tier.usd) for tier in self.tiers if tier.usd]
        return Bounds(*map(sum, zip(*known, strict=True))) if len(known) == len(self.tiers) else None


Amounts = NDArray[np.float64]
"""The low, the expected and the high value of an amount."""
_CHARACTERS = np.array([6.0, 4.0, 2.5])
"""Characters per token of Latin prose, across tokenizers and languages; the first gives the fewest tokens."""
_REPLY_TOKENS, _DIRECT_TOKENS = 250, 10
"""Tokens of a worked answer to a school problem with its reasoning, and of a bare answer."""
_IN_EVOLVE = {template for template, _ in TEMPLATES.values()}


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


class _Rehearsal:
    """What a rehearsal recorded; an event counts once for each iteration of the run that its rehearsed iteration
    represents."""

    def __init__(self, reader: LogReader, config: Config, iterations: int) -> None:
        self.of, self._requests = reader.of, Requests(reader)
        self.config, self.iterations = config, iterations
        self._weights = {k: (config.iterations - 2) / (iterations - 2) for k in range(1, iterations - 1)}

    def total(self, events: Iterable[Any], amount: Callable[[Any], float] = lambda event: 1.0) -> float:
        """Return the sum of an amount over these events, by default their number, scaled to the whole run."""
        return sum(amount(event) * self._weights.get(event.iteration, 1.0) for event in events)

    def calls(self, tier: str) -> list[v.ModelCalled]:
        return [call for call in self.of(v.ModelCalled) if call.tier == tier]

    def sent(self, call: v.ModelCalled) -> Request:
        return self._requests.request(call.sent) or Request(prompt="")

    def prompt(self, call: v.ModelCalled) -> int:
        """Return the characters of a call's prompt."""
        return len(self.sent(call).text) + len(self.sent(call).reply_schema)


def estimate(config: Config, *, data_dir: Path | None, workers: int, prices: Prices, batches: bool = False) -> Estimate:
    """Return what a run of this configuration will take, with or without batches. Only embedded models are called.

    Raises:
        UsageError: Something in the configuration is unknown or out of bounds.
        PrerequisiteError: A data set is missing.
    """
    config = with_own_models(config)
    check_models(execution=config.execution, guidance=config.guidance, judge=config.judge)
    own, iterations = own_models(config.benchmark), min(config.iterations, len(ACTIONS) + 2)
    models = Models(
        open_model(own.execution, "execution"),
        open_model(own.guidance, "guidance"),
        _Rejecting() if config.judge else None,
        ServedEmbedder(config.embedder, _Characters()) if metered(config.embedder) else None,
    )
    short = {"iterations": iterations, "early_stopping": False, "judge": "", "teacher_sees": "solutions"}
    # Whether corrections are asked for depends on what the real teacher sees.
    short["cases"] = config.cases and config.teacher_sees != "errors"
    changed, how = msgspec.structs.replace(models.named_in(config), **short), Runtime(workers=workers)
    with TemporaryDirectory() as folder:
        evolve(changed, runs_dir=folder, data_dir=data_dir, runtime=how, run_id="rehearsal", models=models)
        past = _Rehearsal(LogReader(find_run(Path(folder), "rehearsal").log_path), config, iterations)
        taken = {
            "execution": _asked(past, "execution", config.execution == own.execution, _answering(past)),
            "guidance": _asked(past, "guidance", config.guidance == own.guidance, _guiding(past)),
            **({"judge": _judging(past)} if config.judge else {}),
            **({"embedder": _embedding(past)} if models.embedder else {}),
        }
        batched = {"guidance": _batched(past), "judge": 1.0} if batches else {}
    tiers = (_priced(tier, getattr(config, tier), each, prices, batched.get(tier, 0.0)) for tier, each in taken.items())
    return Estimate(benchmark=config.benchmark, iterations=config.iterations, rehearsed=iterations, tiers=tuple(tiers))


def _answering(past: _Rehearsal) -> Amounts:
    planned, calls = list(past.of(v.QuestionPlanned)), past.calls("execution")
    longest = max(Counter(map(_question, calls)).values(), default=1)
    sure = (each for each in planned if each.iteration < 0 or each.purpose in ("fresh", "revisit"))
    return np.array([past.total(sure), past.total(calls), past.total(planned) * longest])


def _question(call: v.ModelCalled) -> tuple[int, str, str]:
    return call.iteration, call.purpose, call.about.partition("/")[0]


def _guiding(past: _Rehearsal) -> Amounts:
    """Return the calls of guidance: at least those outside EVOLVE, at most those of every EVOLVE too, each with all
    repairs."""
    calls, config = past.calls("guidance"), past.config
    asking = {taken.action for taken in past.of(v.ActionTaken) if taken.outcome != SWITCHED_OFF}
    actions = sum(name in asking for k in range(config.iterations) for name in with_companions(action_of(k)))
    sure = past.total(call for call in calls if call.purpose not in _IN_EVOLVE)
    return np.array([sure, past.total(calls), (1 + MOST_REPAIRS) * (sure + config.targets * actions)])


def _batched(past: _Rehearsal) -> float:
    """Return EVOLVE's share of the guidance tokens: its calls go in batches."""

    def tokens(call: v.ModelCalled) -> int:
        return call.input_tokens + call.output_tokens

    calls = past.calls("guidance")
    in_evolve = past.total((call for call in calls if call.purpose in _IN_EVOLVE), tokens)
    return in_evolve / max(1.0, past.total(calls, tokens))


def _asked(past: _Rehearsal, tier: str, is_own: bool, calls: Amounts) -> _Taken:
    """Return the tokens of these calls: as counted for the benchmark's own model, for any other judged by their
    lengths."""
    made, number = past.calls(tier), max(1.0, past.total(past.calls(tier)))
    prompts, replies = past.total(made, past.prompt), past.total(made, lambda call: len(call.text))
    tokens, written = (
        past.total(made, lambda call: call.input_tokens),
        past.total(made, lambda call: call.output_tokens),
    )
    given, said = np.full(3, tokens), np.full(3, written)
    if not is_own:
        given, said = prompts / _CHARACTERS, replies / _CHARACTERS
        planned = past.of(v.QuestionPlanned)
        direct = {(p.iteration, p.purpose, p.question_id) for p in planned if p.routing_arm == "direct"}
        most = RAISE * past.total(made, lambda call: past.sent(call).max_tokens)
        usual = past.total(made, lambda call: _DIRECT_TOKENS if _question(call) in direct else _REPLY_TOKENS)
        said[1] = max(said[1], min(most, usual)) + thought(getattr(past.config, tier)) * past.total(made)
        said[2] = max(most, said[1])
    # Prompts grow with what is learned: at most all are as long as those of the iteration with the longest.
    each = [[call.input_tokens for call in made if call.iteration == k] for k in range(past.iterations)]
    if tokens:
        means = [sum(lengths) / len(lengths) for lengths in each if lengths]
        given[2] *= max(1.0, max(means, default=0.0) * number / tokens)
    fixed = past.total(made, lambda call: len(past.sent(call).system)) / max(1.0, prompts)
    return _Taken(calls, given * calls / number, said * calls / number, fixed)


def _judging(past: _Rehearsal) -> _Taken:
    """Return the calls about answers that the rule does not accept; at most one per answer, with all its repairs."""
    made = past.calls("judge")
    most = past.total(past.of(v.AnswerJudged)) * (1 + MOST_REPAIRS) * bool(made)
    calls, prompt = np.array([0, past.total(made), most]), sum(map(past.prompt, made)) / max(1, len(made))
    reply = np.array([20.0, JUDGED + thought(past.config.judge), RAISE * MAX_TOKENS])
    return _Taken(calls, prompt / _CHARACTERS * calls, reply * calls, fixed=1.0)


def _embedding(past: _Rehearsal) -> _Taken:
    """Return how much the rehearsal embeds, which does not depend on the embedder. The bounds assume that each
    iteration takes as little as the smallest rehearsed one, or as much as the largest."""
    made, run = list(past.of(v.EmbeddingCalled)), past.config.iterations

    def bounds(amount: Callable[[v.EmbeddingCalled], int]) -> Amounts:
        sums = Counter[int]()
        for call in made:
            sums[call.iteration] += amount(call)
        turns = [sums[k] for k in range(past.iterations)]
        return np.array([sums[-1] + min(turns) * run, past.total(made, amount), sums[-1] + max(turns) * run])

    characters = bounds(lambda call: call.input_tokens)
    return _Taken(bounds(lambda call: 1), characters / _CHARACTERS, np.zeros(3))


def _priced(tier: str, model: str, taken: _Taken, prices: Prices, batched: float) -> TierEstimate:
    """Price what a tier takes; `batched` is the share of its tokens in batches, which the high estimate repeats."""
    usd, price = None, ""
    if rate := prices.rate(model):
        factor = 1.0 - batched * (1.0 - rate.batch)
        each = zip(taken.given, taken.said, (0.0, 0.0, taken.fixed), (factor, factor, 1.0), strict=True)
        usd = Bounds(
            *(float(rate.cost(given, 0, said, cache_write_tokens=part * given) * by) for given, said, part, by in each)
        )
        price = rate.source
        if batched and rate.batch < 1.0:
            price += f"; {batched:.0%} of the tokens in batches at {rate.batch:g} of the price"
    calls, given, said = (Bounds(*amounts.tolist()) for amounts in taken[:3])
    return TierEstimate(
        tier=tier, model=model, calls=calls, input_tokens=given, output_tokens=said, usd=usd, price=price
    )
