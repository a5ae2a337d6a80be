"""What needs no model on the task sets with private rules: the commonest answer, and the answer of the nearest case.

`python -m tests.bench.private_sets` prints, for each set and difficulty, how many of 60 held-out questions are right
after 120 (`--learned`) to learn from: the sum over seeds. `metric` and `regression` are how often one was learned from
the cases, of so many seeds, and `learned` what is right by it; where none was, by the cosine.
"""

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.players.worlds.private.benchmark import KINDS, PrivateSet
from mage_es.engine.rules.gold import are_labels, are_short
from mage_es.engine.rules.metric import metric_of, regression_for
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.engine.rules.splits import make_splits
from mage_es.engine.seams.benchmark import SPLITS
from tests.engine.rules.test_retrieval import memory_of, remembered

LEARNED, ASKED = 120, 60


class Answered(NamedTuple):
    question: str
    gold: str
    solution: str = ""


class Draw(NamedTuple):
    """Questions that are learned from, and questions that are asked."""

    cases: Sequence[Answered]
    asked: Sequence[Answered]


def drawn(name: str, seed: int, learned: int = LEARNED) -> Draw:
    opened = PrivateSet(name, seed)
    every = {
        each.id: Answered(each.question, each.gold, each.solution)
        for split in SPLITS
        for each in opened.questions(split)
    }
    splits = make_splits(*map(opened.questions, SPLITS), seed=seed, anchors=30, held_out=ASKED)
    return Draw([every[name] for name in splits.evolution[:learned]], [every[name] for name in splits.held_out])


def nearest(draw: Draw) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the answers of the five nearest cases to each question that is asked, by the cosine, by the metric, if
    one was learned, and last as a run takes them."""
    embedder, golds = HashEmbedder(), [case.gold for case in draw.cases]
    vectors = embedder.encode([case.question for case in draw.cases])
    memory = memory_of(
        *(
            remembered(f"{at:05}", vector, ordinal=at, question=case.question, answer=case.gold, question_id=f"q{at}")
            for at, (vector, case) in enumerate(zip(vectors, draw.cases, strict=True))
        )
    )
    terms = Terms(bundle=5, long_context=500, strategy_floor=0.0, exclude_self=True, is_labelled=are_labels(golds))
    ways = {"cosine": (terms, False)}
    if are_labels(golds) or (are_short(golds) and not any(case.solution for case in draw.cases)):
        learned = terms._replace(is_measured=True)
        ways |= {"metric": (learned, False)} if metric_of(memory, "t") else {}
        ways |= {"regression" if regression_for(memory, "t") else "without outvoted cases": (learned, True)}
    asked = [*zip(embedder.encode([each.question for each in draw.asked]), draw.asked, strict=True)]

    def found(terms: Terms, has_words: bool) -> Sequence[Sequence[str]]:
        # Without its text a question is compared by its vector alone.
        queries = (Query(vector, "t", "asked", each.question * has_words, 0) for vector, each in asked)
        hits = (retrieve("nearest", query, memory, terms).success for query in queries)
        return [[memory.row(hit.memory_id).answer for hit in each] for each in hits]

    return {name: found(*way) for name, way in ways.items()}


def right(name: str, seed: int, learned: int = LEARNED) -> Counter[str]:
    """Return how many answers each way gets right; `one of five`: a right one is among the five nearest; `of five`:
    how many of them are right; `words of the nearest`: how many words of the right answers (`words`) its answer has."""
    draw = drawn(name, seed, learned)
    common = Counter(case.gold for case in draw.cases).most_common(1)[0][0]
    words = sum(len(_words(question.gold)) for question in draw.asked)
    counted = Counter(asked=len(draw.asked), words=words, commonest=sum(q.gold == common for q in draw.asked))
    found = nearest(draw)
    counted.update(dict.fromkeys(found, 1))
    for prefix, near in (("", found["cosine"]), ("learned: ", [*found.values()][-1])):
        for question, five in zip(draw.asked, near, strict=True):
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
