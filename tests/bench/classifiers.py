"""The nearest case by what was learned, beside text classifiers of scikit-learn that learned from the same cases.

`python -m tests.bench.classifiers [FILE ...]`, after `pip install '.[classifier]'`: right answers on the task sets with
private labels, or on files of lines `{"question": ..., "answer": ...}`; of those four draws of 120 learned, 80 asked.
The classifiers are given words, pairs of words and groups of three and four letters by TF-IDF; the last one whole words
alone, numbers among them.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from mage_es.engine.study.baselines.classifying import linear_svm, weighed_words
from tests.bench.private_sets import Answered, Draw, drawn, nearest

SETS = ("private-labels", "private-limits", "private-drift", "private-pairs", "private-composition")
LEARNED, ASKED, DRAWS = 120, 80, 4


def classifiers() -> Iterator[tuple[str, object]]:
    yield "logistic regression", make_pipeline(weighed_words(), LogisticRegression(C=10, max_iter=500))
    yield "linear SVM", linear_svm(0)
    yield "words alone", make_pipeline(TfidfVectorizer(token_pattern=r"\w+"), LogisticRegression(C=10, max_iter=500))


def right(draw: Draw) -> Counter[str]:
    counted = Counter(asked=len(draw.asked))
    found = nearest(draw)
    ways = {"cosine": found["cosine"], "metric": found.get("metric", found["cosine"]), "mage": [*found.values()][-1]}
    for name, near in ways.items():
        counted[name] = sum(five[0] == question.gold for five, question in zip(near, draw.asked, strict=True))
    for name, model in classifiers():
        model.fit([case.question for case in draw.cases], [case.gold for case in draw.cases])
        replies = model.predict([question.question for question in draw.asked])
        counted[name] = sum(gold == question.gold for gold, question in zip(replies, draw.asked, strict=True))
    return counted


def of_file(path: Path) -> Iterator[Draw]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for seed in range(DRAWS):
        shuffled = Random(seed).sample(rows, len(rows))
        each = [Answered(row["question"], str(row["answer"])) for row in shuffled]
        yield Draw(each[:LEARNED], each[LEARNED : LEARNED + ASKED])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=401, help="the first of the seeds")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    draws = {path.stem: of_file(path) for path in given.files} or {
        f"{name}, {level}": map(partial(drawn, f"{name}?difficulty={level}"), seeds)
        for name in SETS
        for level in (1, 2, 3)
    }
    columns = ("asked", "cosine", "metric", "mage", *(name for name, _ in classifiers()))
    print("| set |", " | ".join(columns), "|")
    for name, each in draws.items():
        counted = sum(map(right, each), Counter[str]())
        print(f"| {name} |", " | ".join(str(counted[column]) for column in columns), "|", flush=True)


if __name__ == "__main__":
    main()
