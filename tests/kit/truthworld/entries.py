"""What the entry points of truthworld name: the benchmark, with the models that it is run with, and those models."""

from mage_es.engine.benchmarks.registry import BenchmarkEntry, OwnModels
from mage_es.engine.seams.model import Model
from mage_es.engine.seams.spec import ModelSpec
from tests.kit.truthworld.authors import TruthGuide
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.judge import TruthJudge
from tests.kit.truthworld.learner import TruthLearner

BENCHMARKS = {
    "truthworld": BenchmarkEntry(
        lambda seed, _: TruthWorld(seed), OwnModels("truth/learner", "truth/guide", "truth/judge")
    )
}
_PLAYERS = {"learner": TruthLearner, "guide": TruthGuide, "judge": TruthJudge}


def open_player(spec: ModelSpec) -> Model:
    return _PLAYERS[spec.model]()
