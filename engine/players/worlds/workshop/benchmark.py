"""The benchmark `workshop`: 900 evolution and 300 test episodes for each seed, made on demand."""

from collections.abc import Sequence

import msgspec

from mage_es.engine.players.worlds.generated import Generated, distinct
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.workshop import tasks, wording
from mage_es.engine.players.worlds.workshop.game import WorkshopGame
from mage_es.engine.players.worlds.workshop.lands import VERSION, land
from mage_es.engine.players.worlds.workshop.plans import short_plan
from mage_es.engine.players.worlds.workshop.tasks import Task
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.engine.seams.playing import play_actions, transcript
from mage_es.events.digests import sha256_text

SIZES: dict[Split, int] = {"evolution": 900, "test": 300}


class Workshop(Generated):
    name = "workshop"
    answer_format = 'Finish with a line such as "Action: <go to lake>", with one of the valid actions.'

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.data_sha256 = sha256_text(f"{VERSION} seed {seed}")

    def questions(self, split: Split) -> Sequence[Question]:
        return distinct(_question, self._seed, split, SIZES[split])

    def environment(self, question: Question) -> WorkshopGame:
        return WorkshopGame(msgspec.json.decode(question.meta["task"], type=Task))

    def score(self, question: Question, reply: str) -> Verdict:
        return play_actions(self.environment(question), reply)


def _question(seed: int, split: Split, index: int) -> Question:
    task = tasks.draw(seed, split, index)
    family = wording.family(Dice(f"{VERSION}/{seed}/{split}/{index}/wording"), split)
    rules = land(task.seed, task.land)
    goal = task.goal or rules.tiers[-1][-1]  # the last thing of the last tier needs all the others
    plan = short_plan(rules, task.situation, goal, task.count) if split == "evolution" else []
    return Question(
        id=f"workshop-{split}-{index:05d}",
        benchmark=Workshop.name,
        split=split,
        task_type=task.task_type,
        question=wording.statement(task, family),
        gold=f"{task.goal} in {task.steps} steps" if task.goal else f"as much as possible in {task.steps} steps",
        solution=transcript(WorkshopGame(task), plan),
        family=family,
        meta={"task": msgspec.json.encode(task).decode()},
    )
