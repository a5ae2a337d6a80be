"""Servers that think before they answer, never stop thinking, or repeat themselves: calls for a prompt, what is lost.

    python -m tests.bench.length                 two iterations of 100 questions on each
    python -m tests.bench.length --pool 40       the same, smaller

The first thinks 900 tokens in the median (lognormal, sigma 0.8: a reply in thirty-five thinks more than 4,096) and then
answers as the embedded learner would. The second thinks until its limit cuts it, whatever that is. The third says one
line over and over until then.
"""

import argparse
import math
import os
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mage_es.engine.config import Config
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, AnswerUnanswered, CallFailed, ModelCalled
from tests.engine.providers.provider import Answer, Said, provider, request_of

MEDIAN, SIGMA = 900, 0.8


def thinks(body: dict[str, Any]) -> Said:
    """Think as many tokens as go with the prompt, the same each time, then answer; what is over the limit is cut."""
    tokens = round(math.exp(Random(repr(body["messages"])).gauss(math.log(MEDIAN), SIGMA)))
    answer, limit = reply(request_of(body)), body["max_tokens"]
    thinking = "<think>\n" + "".join(f"Is it {number}? " for number in range(min(tokens, limit) // 3))
    if tokens >= limit:
        return Said(thinking, "length", made=limit)
    return Said(f"{thinking}</think>\n\n{answer}", made=min(limit, tokens + len(answer.split())))


def never_stops(body: dict[str, Any]) -> Said:
    return Said(
        None, "length", made=body["max_tokens"], aside="".join(f"Wait, is it {number}? " for number in range(100))
    )


def repeats_itself(body: dict[str, Any]) -> Said:
    return Said(
        "I count them: 3 and 4.\n" + "That makes 7, and the answer is 7.\n" * 100, "length", made=body["max_tokens"]
    )


SERVERS = {"thinks 900 tokens": thinks, "never stops": never_stops, "repeats itself": repeats_itself}


class Counts(NamedTuple):
    """`prompts`: what was asked once, or more often where the reply was no answer (a chain has several for a question);
    `identical`: calls for one of them whose request was made before; `tokens`: output tokens, `thought` among them."""

    questions: int
    prompts: int
    calls: int
    identical: int
    cut: int
    truncated: int
    looped: int
    unanswered: int
    right: int
    tokens: int
    thought: int

    @property
    def calls_per_prompt(self) -> float:
        return self.calls / self.prompts


def measured(answer: Answer, folder: Path, *, pool: int, options: str = "") -> Counts:
    """Return the counts of a run of two iterations against a server that answers so."""
    with provider(answer=answer) as server:
        spec = f"openai/exec?base_url={server.openai_url}{options}"
        config = Config(benchmark="wordmath", iterations=2, pool=pool, held_out=20, anchors=pool // 10, execution=spec)
        evolve(config, runs_dir=folder, runtime=Runtime(workers=8), run_id="length")
        asked = len(server.asked)
    reader = LogReader(find_run(folder, "length").log_path)
    called = [call for call in reader.of(ModelCalled) if call.tier == "execution"]
    failed = [call for call in reader.of(CallFailed) if call.tier == "execution"]
    assert asked == len(called) + len(failed)
    made = Counter((call.iteration, call.purpose, call.about, call.request_sha256) for call in (*called, *failed))
    judged = list(reader.of(AnswerJudged))
    return Counts(
        questions=len(judged),
        prompts=len({key[:3] for key in made}),
        calls=asked,
        identical=asked - len(made),
        cut=sum(call.stop_reason in ("length", "loop") for call in called),
        truncated=sum(verdict.reason == "truncated" for verdict in judged),
        looped=sum(verdict.reason == "looped" for verdict in judged),
        unanswered=sum(1 for _ in reader.of(AnswerUnanswered)),
        right=sum(verdict.correct for verdict in judged),
        tokens=sum(call.output_tokens for call in called),
        thought=sum(call.thinking_tokens for call in called),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=100)
    pool: int = parser.parse_args().pool
    for name, answer in SERVERS.items():
        with tempfile.TemporaryDirectory() as folder:
            counts = measured(answer, Path(folder), pool=pool)
        told = ", ".join(f"{field} {value:,}" for field, value in counts._asdict().items())
        print(f"{name}: {counts.calls_per_prompt:.3f} calls per prompt; {told}")


if __name__ == "__main__":
    main()
