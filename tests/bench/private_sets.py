"""What needs no model on the task sets with private rules: the commonest answer, and the answer of the nearest case.

`python -m tests.bench.private_sets` prints, for each set and difficulty, how many of 60 held-out questions are right
after 120 (`--learned`) to learn from: the sum over seeds. `metric` is how often a metric was learned from the cases, of
so many seeds, and what is right by it; where none was, by the cosine.
"""

import argparse
import re
from collections import Counter

import numpy as np

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.players.worlds.private.benchmark import KINDS, PrivateSet
from mage_es.engine.rules.metric import Placed, learn_metrics
from mage_es.engine.rules.setting import are_labels, are_short
from mage_es.engine.rules.splits import make_splits
from mage_es.engine.seams.benchmark import SPLITS

LEARNED, ASKED = 120, 60


def right(name: str, seed: int, learned: int = LEARNED) -> Counter[str]:
    """Return how many answers each way gets right; `one of five`: a right one is among the five nearest; `of five`:
    how many of them are right; `words of the nearest`: how many words of the right answers (`words`) its answer has."""
    opened = PrivateSet(name, seed)
    questions = {question.id: question for split in SPLITS for question in opened.questions(split)}
    splits = make_splits(*map(opened.questions, SPLITS), seed=seed, anchors=30, held_out=ASKED)
    cases = [questions[name] for name in splits.evolution[:learned]]
    asked = [questions[name] for name in splits.held_out]
    embedder = HashEmbedder()
    sought, known = (embedder.encode([q.question for q in each]).astype(np.float64) for each in (asked, cases))
    common = Counter(case.gold for case in cases).most_common(1)[0][0]
    words = sum(len(_words(question.gold)) for question in asked)
    counted = Counter(
        {"asked": len(asked), "words": words, "commonest": sum(question.gold == common for question in asked)}
    )
    golds = [case.gold for case in cases]
    named = [Placed("", vector, gold) for vector, gold in zip(known, golds, strict=True)]
    metric = learn_metrics(named).metrics.get("") if are_labels(golds) or are_short(golds) else None
    counted["metric"] += metric is not None
    for prefix, move in (("", np.asarray), ("metric: ", metric.moved if metric else np.asarray)):
        moved = [move(each) / np.linalg.norm(move(each), axis=1)[:, None] for each in (sought, known)]
        for question, row in zip(asked, moved[0] @ moved[1].T, strict=True):
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
    columns = ("commonest", *ways, "metric", *(f"metric: {way}" for way in ways), "words", "asked")
    print("| set |", " | ".join(columns), "|")
    for kind in KINDS:
        for level in (1, 2, 3):
            counted = sum((right(f"{kind}?difficulty={level}", seed, given.learned) for seed in seeds), Counter[str]())
            print(f"| {kind}, {level} |", " | ".join(str(counted[column]) for column in columns), "|")


if __name__ == "__main__":
    main()
