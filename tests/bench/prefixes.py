"""What prompts with cases share with those before them by the order of the cases, and what that costs.

    python -m tests.bench.prefixes                                    no model: characters only
    python -m tests.bench.prefixes --execution openai/MODEL --held-out 60

The five nearest of 120 cases of a set by private rules come as turns, as `knn` shows them: the nearest last, or in the
order of their ids, which is the same in every prompt. A server that keeps all it has read (a prefix cache) reads only
what lies behind the longest beginning that a prompt has in common with one before it.
"""

import argparse
import asyncio
import bisect
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.study.baseline import baseline
from mage_es.engine.study.baselines import entries
from mage_es.engine.study.baselines.method import PreparedTask
from mage_es.engine.study.baselines.methods import NearestCases


class ByID(NearestCases):
    """The same cases in the order of their ids."""

    def prepare(self, task: Question) -> PreparedTask:
        nearest = super().prepare(task)
        return nearest._replace(cases=sorted(nearest.cases, key=lambda case: case.question.id))


ORDERS = {"the nearest last": NearestCases, "by id": ByID}


class Kept:
    """A model that keeps what it is asked; without one, it says nothing of use."""

    def __init__(self, model: Model | None) -> None:
        self._model, self.prompts, self.system = model, list[str](), ""
        self.name = model.name if model else "none"

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(f"{request.system}\n\n{request.text}")
        self.system = request.system
        if self._model:
            return await self._model.complete(request)
        await asyncio.sleep(0)
        return Completion(text="Answer: none", input_tokens=1, output_tokens=1)


def shared(prompts: Sequence[str]) -> float:
    """Return the share of the characters that lie in a beginning in common with an earlier prompt."""
    # The longest is with a neighbour in sorted order.
    known, found = list[str](), 0
    for prompt in prompts:
        at = bisect.bisect(known, prompt)
        found += max((in_common(prompt, other) for other in known[max(0, at - 1) : at + 1]), default=0)
        known.insert(at, prompt)
    return found / sum(map(len, prompts))


def in_common(one: str, other: str) -> int:
    """Return the length of the beginning that two texts have in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, its) in pairs if mine != its), min(len(one), len(other)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmark", default="private-labels")
    parser.add_argument("--execution", default="")
    parser.add_argument("--held-out", type=int, default=60)
    parser.add_argument("--learn-from", type=int, default=120)
    parser.add_argument("--max-tokens", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    config = Config(
        benchmark=options.benchmark,
        seed=options.seed,
        held_out=options.held_out,
        anchors=0,
        max_tokens=options.max_tokens,
    )
    print(f"{options.benchmark}, seed {options.seed}, {options.held_out} prompts, 5 of {options.learn_from} cases each")
    right: dict[str, Mapping[str, bool]] = {}
    for order, method in ORDERS.items():
        entries.METHODS = {**entries.METHODS, "knn": method}
        model = Kept(open_model(options.execution, "execution") if options.execution else None)
        with tempfile.TemporaryDirectory() as folder:
            report = baseline(
                "knn",
                config,
                runs_dir=Path(folder),
                runtime=Runtime(workers=1),
                learn_from=options.learn_from,
                models=Models(model, None),
            )
        right[order] = dict(report.answers)
        asked = f"; {report.correct} of {report.total} right" if options.execution else ""
        print(
            f"{order:18s} {shared(model.prompts):6.1%} of {sum(map(len, model.prompts)) / len(model.prompts):,.0f} "
            f"characters shared with an earlier prompt, of which the instruction is {len(model.system)}{asked}"
        )
    if options.execution:
        first, second = right.values()
        better = sum(second[name] > first[name] for name in first)
        worse = sum(second[name] < first[name] for name in first)
        print(f"by id against the nearest last: +{better} -{worse}")


if __name__ == "__main__":
    main()
