"""What needs no model on the task sets with private rules: the commonest answer, and the answer of the nearest case.

`python -m tests.bench.private_sets` prints, for each set and difficulty, how many of 60 held-out questions are right
after 120 (`--learned`) to learn from: the sum over seeds. `metric` and `regression` are how often one was learned from
the cases, of so many seeds, and `learned` what is right by it; where none was, by the cosine.
"""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.players.worlds.private.benchmark import KINDS, PrivateSet
from mage_es.engine.rules.metric import Placed, features, learn_metrics
from mage_es.engine.rules.regression import words_of
from mage_es.engine.rules.setting import are_labels, are_short
from mage_es.engine.rules.splits import make_splits
from mage_es.engine.seams.benchmark import SPLITS

LEARNED, ASKED = 120, 60


class Answered(NamedTuple):
    question: str
    gold: str


class Draw(NamedTuple):
    """Questions that are learned from, and questions that are asked."""

    cases: Sequence[Answered]
    asked: Sequence[Answered]


def drawn(name: str, seed: int, learned: int = LEARNED) -> Draw:
    opened = PrivateSet(name, seed)
    every = {each.id: Answered(each.question, each.gold) for split in SPLITS for each in opened.questions(split)}
    splits = make_splits(*map(opened.questions, SPLITS), seed=seed, anchors=30, held_out=ASKED)
    return Draw([every[name] for name in splits.evolution[:learned]], [every[name] for name in splits.held_out])


def closeness(draw: Draw) -> Mapping[str, NDArray[np.floating[Any]]]:
    """Return how near each case is to each question that is asked, [asked, cases], by the cosine and by what was
    learned, after whose name it is called: a case that is outvoted is not near."""
    embedder = HashEmbedder()
    sought, known = (
        embedder.encode([q.question for q in each]).astype(np.float64) for each in (draw.asked, draw.cases)
    )
    golds = [case.gold for case in draw.cases]
    cosine = sought @ known.T
    if not (are_labels(golds) or are_short(golds)):
        return {"cosine": cosine}
    placed = [Placed("", v, case.gold, question=case.question) for v, case in zip(known, draw.cases, strict=True)]
    fitted, found = learn_metrics(placed), {"cosine": cosine}
    if metric := fitted.metrics.get(""):
        moved = [metric.moved(each) / np.linalg.norm(metric.moved(each), axis=1)[:, None] for each in (sought, known)]
        found["metric"] = moved[0] @ moved[1].T
    if regression := fitted.regressions.get(""):
        answers = regression.answers(features("", gold) for gold in golds)
        words = words_of([question.question for question in draw.asked])
        each = zip(words, cosine.astype(np.float32), strict=True)
        found["regression"] = np.stack([regression.closeness(word, answers, row) for word, row in each])
    for near in [*found.values()][1:]:
        near[:, [*fitted.outvoted]] = -np.inf
    return found


def right(name: str, seed: int, learned: int = LEARNED) -> Counter[str]:
    """Return how many answers each way gets right; `one of five`: a right one is among the five nearest; `of five`:
    how many of them are right; `words of the nearest`: how many words of the right answers (`words`) its answer has."""
    draw = drawn(name, seed, learned)
    golds = [case.gold for case in draw.cases]
    common = Counter(golds).most_common(1)[0][0]
    words = sum(len(_words(question.gold)) for question in draw.asked)
    counted = Counter(asked=len(draw.asked), words=words, commonest=sum(q.gold == common for q in draw.asked))
    found = closeness(draw)
    counted.update(dict.fromkeys(found, 1))
    for prefix, near in (("", found["cosine"]), ("learned: ", [*found.values()][-1])):
        for question, row in zip(draw.asked, near, strict=True):
            five = [golds[place] for place in (-row).argsort(kind="stable")[:5]]
            counted[prefix + "nearest"] += question.gold == five[0]
            counted[prefix + "vote of five"] += question.gold == Counter(five).most_common(1)[0][0]
            counted[prefix + "one of five"] += question.gold in five
            counted[prefix + "of five"] += five.count(question.gold)
            counted[prefix + "words of the nearest"] += sum(word in _words(five[0]) for word in _words(question.gold))
    return counted


def _words(answer: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", answer.casefold()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds")
    parser.add_argument("--learned", type=int, default=LEARNED, help="questions to learn from")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    ways = ("nearest", "vote of five", "one of five", "of five", "words of the nearest")
    columns = ("commonest", *ways, "metric", "regression", *(f"learned: {way}" for way in ways), "words", "asked")
    print("| set |", " | ".join(columns), "|")
    for kind in KINDS:
        for level in (1, 2, 3):
            counted = sum((right(f"{kind}?difficulty={level}", seed, given.learned) for seed in seeds), Counter[str]())
            print(f"| {kind}, {level} |", " | ".join(str(counted[column]) for column in columns), "|")


if __name__ == "__main__":
    main()
