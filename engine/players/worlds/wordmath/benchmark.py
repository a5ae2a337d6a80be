"""The benchmark `wordmath`: 6,000 evolution and 1,000 test questions for each seed, made on demand."""

from collections.abc import Sequence

from mage_es.engine.benchmarks.numbers import ANSWER_FORMAT, INSTRUCTION, number_in, score_number
from mage_es.engine.players.worlds.generated import Generated, distinct
from mage_es.engine.players.worlds.wordmath.generator import VERSION, generate
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.events.digests import sha256_text

SIZES: dict[Split, int] = {"evolution": 6_000, "test": 1_000}


class WordMath(Generated):
    name = "wordmath"
    answer_format, instruction = ANSWER_FORMAT, INSTRUCTION

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.data_sha256 = sha256_text(f"{VERSION} seed {seed}")

    def questions(self, split: Split) -> Sequence[Question]:
        return distinct(generate, self._seed, split, SIZES[split])

    def extract(self, reply: str) -> str:
        return number_in(reply)

    def score(self, question: Question, reply: str) -> Verdict:
        return score_number(question.gold, reply)
