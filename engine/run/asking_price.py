"""What asking models will cost in calls, tokens, minutes and dollars, judged before any model is asked.

Rules
    - A price is judged by the record, if the record has something similar: a question is expected to take all the calls
      that it took before, including the second call for a reply that was cut, repairs, and the judge's calls. Otherwise
      the lengths of the prompts and of a usual reply decide.
    - A price is an expectation, not a maximum. Limits (`--max-usd`, `--max-calls`) hold whatever the price says.
    - A whole run is rehearsed instead (`estimate` of the wing providers), unless it continues another run.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.config import BENCHMARK, Config, parse
from mage_es.engine.run.exams import ledger_of
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.model import Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, IterationClosed, ModelCalled, QuestionPlanned
from mage_es.projections.ledger import Usage

JUDGED = 80
"""Tokens of a judge's reply: a score and a short reason."""
_THOUGHT = 900
"""Median tokens that a small model thinks about a school problem."""
_AMOUNTS = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "latency_us")


class AskingPrice(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to ask `questions` prompts again, besides those on record: calls of learner and, where prompts like
    these took any, of the `judge`; tokens, and minutes one after another. If no such call is on record, `calls` is one
    for each, tokens are 0 and `minutes` is None; `usd` is None if a price is unknown."""

    execution: str
    judge: str = ""
    questions: int
    calls: int
    input_tokens: int
    output_tokens: int
    minutes: float | None
    usd: float | None


class Like(NamedTuple):
    """A number of prompts, each of which is expected to take as much as the mean of those that were `asked` in a
    run."""

    reader: LogReader
    questions: int
    asked: Iterable[QuestionPlanned | AnswerJudged]


class _Taken(NamedTuple):
    """What calls of a model took, and the factor by which to multiply it."""

    model: str
    use: Usage
    times: float
    batched: bool = False


def price_on(reader: LogReader, config: Config, prices: Prices) -> AskingPrice | None:
    """Return an estimate of what continuing a run costs: the opening and each question of an iteration at the other
    run's mean, of the models of the configuration; None if that has not closed an iteration of its own."""
    opening, *closed = [each.iteration for each in reader.of(IterationClosed, since=last_inherited(reader) + 1)] or [-1]
    if not closed:
        return None
    before = parse(first_event(reader).config)
    share = config.iterations * config.pool / (len(closed) * before.pool)
    others: dict[str, str] = {
        tier: name
        for tier in ("execution", "guidance", "judge")
        if (name := getattr(config, tier)) not in ("", BENCHMARK, getattr(before, tier))
    }
    # At its own start a run asks its anchors in one way, as nothing was learned; one that continues another asks both
    # ways.
    first = 2.0 if opening < 0 else 1.0
    taken = [
        _Taken(
            others.get(account.tier, account.model),
            use,
            share if account.iteration > opening else first,
            account.batched,
        )
        for account, use in ledger_of(reader).accounts()
        if account.iteration <= closed[-1]  # the run may have been stopped in the middle of the next
    ]
    return _summed(" and ".join(sorted({each.model for each in taken})), config.iterations * config.pool, taken, prices)


def price_again(wanted: Sequence[Like], prices: Prices, *, execution: str | None = None) -> AskingPrice:
    """Return what some prompts will cost; `execution` names the model that will answer, and so the rate, if it is not
    the run's own."""
    taken = [each for like in wanted for each in _taken_like(like, execution)]
    model = execution or first_event(wanted[0].reader).execution_model
    judges = sorted({each.model for each in taken} - {model})
    price = _summed(model, sum(like.questions for like in wanted), taken, prices)
    return msgspec.structs.replace(price, judge=" and ".join(judges))


def _taken_like(like: Like, execution: str | None) -> Iterator[_Taken]:
    asked, purposes = Counter[tuple[int, str]](), set[str]()
    for each in like.asked:
        asked[each.iteration, each.question_id] += 1
        purposes.add(each.purpose)
    share = like.questions / asked.total() if asked else 0.0
    made, asked_for = list[tuple[tuple[int, str], ModelCalled]](), defaultdict[tuple[int, str], set[str]](set)
    fields = ("iteration", "tier", "purpose", "about", "model", *_AMOUNTS)
    for _, call in like.reader.events({ModelCalled: fields}) if share else ():
        assert isinstance(call, ModelCalled)
        keys = ((call.iteration, name) for name in (call.about, call.about.rpartition("/")[0]))
        if call.tier != "guidance" and (key := next((each for each in keys if asked[each]), None)):
            made.append((key, call))
            if call.tier == "execution":
                asked_for[key].add(call.purpose)
    for key, call in made:
        # A judge's purpose is its template, so its calls are divided among all for which the question was asked.
        if call.tier == "judge":
            yield _Taken(call.model, _use_of(call), share * asked[key] / max(1, len(asked_for[key])))
        elif call.purpose in purposes:
            yield _Taken(execution or call.model, _use_of(call), share * asked[key])


def price_of(
    model: str, requests: Sequence[Request], prices: Prices, *, reply: int, like: Sequence[Sequence[ModelCalled]] = ()
) -> AskingPrice:
    """Return what some requests will cost, each at the mean of the requests `like` it, which are given as the calls
    that they took. Without any, a reply is assumed to have `reply` tokens, plus the thinking that the model's spec asks
    for.
    """
    if like:
        taken = [_Taken(model, _use_of(call), len(requests) / len(like)) for calls in like for call in calls]
    else:
        said = reply + thought(model)
        given = sum(estimated_tokens(f"{request.text}\n{request.reply_schema}") for request in requests)
        use = Usage(calls=len(requests), input_tokens=given, output_tokens=said * len(requests))
        taken = [_Taken(model, use, 1.0)] if requests else []
    return _summed(model, len(requests), taken, prices)


def thought(model: str) -> int:
    """Return how many tokens a model's spec tells it to think before a reply."""
    try:
        thinking = parse_spec(model).thinking()
    except UsageError:  # a model passed as an object
        return 0
    return thinking if isinstance(thinking, int) else _THOUGHT * (thinking == "on")


def _use_of(call: ModelCalled) -> Usage:
    return Usage(calls=1, **{name: getattr(call, name) for name in _AMOUNTS})


def _summed(execution: str, questions: int, taken: Sequence[_Taken], prices: Prices) -> AskingPrice:
    def total(name: str) -> float:
        return float(sum(each.times * getattr(each.use, name) for each in taken))

    rates = [(each, prices.rate(each.model)) for each in taken]
    paid = [each.times * rate.paid(each.use, batched=each.batched) if rate else None for each, rate in rates]
    return AskingPrice(
        execution=execution,
        questions=questions,
        calls=max(min(1, questions), round(total("calls"))) if taken else questions,
        input_tokens=round(total("input_tokens")),
        output_tokens=round(total("output_tokens")),
        minutes=total("latency_us") / 60e6 if any(each.use.latency_us for each in taken) else None,
        usd=None if None in paid or (questions and not taken) else sum(filter(None, paid)),
    )
