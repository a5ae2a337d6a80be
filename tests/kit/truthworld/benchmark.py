"""The benchmark `truthworld`: 4,000 evolution and 1,000 test questions for each seed, made on demand."""

from collections.abc import Sequence

from mage_es.engine.benchmarks.numbers import score_number
from mage_es.engine.players.worlds.generated import Generated, distinct
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.events.digests import sha256_text
from tests.kit.truthworld.generator import generate
from tests.kit.truthworld.standings import STANDINGS, answer_in, score_standing
from tests.kit.truthworld.world import ORDINARY, VERSION, WorldShape, world_of

SIZES: dict[Split, int] = {"evolution": 4_000, "test": 1_000}


class TruthWorld(Generated):
    name = "truthworld"
    answer_format = 'Finish with a line such as "#### <level>".'

    def __init__(self, seed: int, shape: WorldShape = ORDINARY) -> None:
        self.world = world_of(seed, shape)
        self.data_sha256 = sha256_text(f"{VERSION} seed {seed} shape {tuple(shape)}")

    def questions(self, split: Split) -> Sequence[Question]:
        return distinct(generate, self.world, split, SIZES[split])

    def extract(self, reply: str) -> str:
        return answer_in(reply)

    def score(self, question: Question, reply: str) -> Verdict:
        """Judge a reply by its number, or by the state of the estate; other words are left to a judge."""
        if question.gold in STANDINGS:
            return score_standing(question.gold, reply)
        if not question.gold:
            return Verdict(answer=answer_in(reply), score=0.0, strict=False)
        return score_number(question.gold, reply)
