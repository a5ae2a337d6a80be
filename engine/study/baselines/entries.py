"""The baselines and the methods that learn, by name."""

from collections.abc import Callable, Mapping
from functools import partial

from mage_es.engine.study.baselines.answering import ROUNDS, SAMPLES, few_shot_cot, reflexion, self_consistency
from mage_es.engine.study.baselines.classifying import LinearSvm
from mage_es.engine.study.baselines.method import Method, RunView, Searching
from mage_es.engine.study.baselines.methods import Cases, NearestCases, NearestLabel, NearestLines, Unchanging
from mage_es.engine.study.baselines.optimizing import Gepa
from mage_es.engine.study.baselines.react import react
from mage_es.engine.study.baselines.shots import looked_up, worked
from mage_es.engine.study.baselines.table import PLAIN, Baseline
from mage_es.engine.study.baselines.writing import WRITING

BASELINES: Mapping[str, Baseline] = {
    **PLAIN,
    "few_shot_cot": Baseline(few_shot_cot, shots=worked),
    "self_consistency": Baseline(self_consistency, samples=SAMPLES),
    "react": Baseline(
        react, shots=lambda name, questions, ids: looked_up(questions, ids), needs_search=True, plays_as="react"
    ),
    "reflexion": Baseline(reflexion, rounds=ROUNDS),
    "reflexion_oracle": Baseline(partial(reflexion, oracle_stop=True), rounds=ROUNDS),
}

METHODS: Mapping[str, Callable[[RunView], Method | Searching]] = {
    "zero_shot": Unchanging,
    "knn": NearestCases,
    "knn_lines": NearestLines,
    "nearest_label": NearestLabel,
    "linear_svm": LinearSvm,
    "full_history": Cases,
    **WRITING,
    "gepa": Gepa,
}
