"""Plain methods that learn: what a user would do instead of keeping a memory.

    zero_shot      nothing but the question
    knn            the five nearest cases with their right answers as turns of a chat, the question last
    knn_lines      the same as plain `Q:` and `A:` lines
    nearest_label  the right answer of the nearest case, without a model
    full_history   all cases in order, at most the newest forty

Rules
    - A case is a question whose right answer is known: the gold answer if the teacher may see it, else the learner's
      own if right. If answers are reasoned it shows the learner's own right reasoning, or a worked solution.
    - Cases are compared by the cosines of the run's embedder. A question is never among its own cases, by id or text.
    - A case of an episode is the transcript of a right one, quoted in the prompt of every step. For open-ended
      episodes, which are never simply right, it is the transcript of one that got at least as far as half of those
      before it.
    - A prompt that does not fit the model's context loses its first cases.
"""

from collections.abc import Sequence
from statistics import median

import numpy as np

from mage_es.engine.rules.near_duplicates import normalise
from mage_es.engine.rules.new_memories import capped
from mage_es.engine.rules.prompt import without_final, worked
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.study.baselines.method import PreparedTask, RunView, ShownCase, Writing

NEAREST = 5
"""How many cases a nearest-neighbour prompt has: the best number on two small models."""
MOST = 40
"""Most cases of a full history."""
BLOCK = 8
"""How many questions a method answers at a time if it learns from its own answers."""
_LONGEST = 2000


class Unchanging:
    """Zero-shot: it learns nothing."""

    is_asking, block, plays = False, BLOCK, True

    def __init__(self, view: RunView) -> None:
        pass

    def prepare(self, task: Question) -> PreparedTask:
        return PreparedTask()

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> None:
        pass


class Cases:
    """The cases so far, in the order in which they were observed: all of them are shown, up to the newest `MOST`."""

    block, plays = BLOCK, True
    reduced = f"at most the newest {MOST} cases are shown"

    def __init__(self, view: RunView) -> None:
        self.view = view
        self.is_asking = view.is_reasoned or not view.sees_gold or view.are_episodes
        self.cases: list[ShownCase] = []
        self._scores: list[float] = []

    def prepare(self, task: Question) -> PreparedTask:
        return PreparedTask(self.others(task)[-MOST:])

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing | None:
        if shown := self._reply_of_case(task, reply if verdict and self._is_good(verdict) else ""):
            self.cases.append(ShownCase(task, shown))
        return None

    def _is_good(self, verdict: Verdict) -> bool:
        if not self.view.is_open_ended:
            return verdict.correct
        self._scores.append(verdict.score)
        return verdict.score >= median(self._scores)

    def others(self, task: Question) -> list[ShownCase]:
        if self.view.are_episodes:  # an episode, whose words may be the same for different worlds
            return [case for case in self.cases if case.question.id != task.id]
        own = normalise(f"{task.context} {task.question}")
        return [
            case
            for case in self.cases
            if case.question.id != task.id and normalise(f"{case.question.context} {case.question.question}") != own
        ]

    def _reply_of_case(self, task: Question, right: str) -> str:
        """Return the reply of a case, "" if no right one is known; `right` is the learner's own reply if that was
        right."""
        form = self.view.answer_format
        if self.view.are_episodes:
            return capped(right, _LONGEST)
        if not task.gold:
            return right.strip()
        if not self.view.is_reasoned:
            return worked("", task.gold, form)
        return worked(capped(without_final(right, form), _LONGEST) if right else task.solution, task.gold, form)


class NearestCases(Cases):
    """The cases nearest to a question, the nearest one last."""

    are_turns, reduced = True, ""

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._vectors: dict[str, np.ndarray] = {}

    def prepare(self, task: Question) -> PreparedTask:
        return PreparedTask(self.nearest(task, NEAREST), are_turns=self.are_turns)

    def nearest(self, task: Question, count: int) -> Sequence[ShownCase]:
        cases = self.others(task)
        if not cases:
            return ()
        self._embed([case.question for case in cases])
        [vector] = self.view.embed([task.question])
        cosines = np.stack([self._vectors[case.question.id] for case in cases]) @ vector
        # In a tie the newer one, which is more likely to still hold.
        best = sorted(range(len(cases)), key=lambda at: (float(cosines[at]), at))
        return [cases[at] for at in best[-count:]]

    def _embed(self, questions: Sequence[Question]) -> None:
        new = [question for question in questions if question.id not in self._vectors]
        if new:
            vectors = self.view.embed([question.question for question in new])
            self._vectors |= {question.id: vector for question, vector in zip(new, vectors, strict=True)}


class NearestLines(NearestCases):
    are_turns, plays = False, False


class NearestLabel(NearestCases):
    """The answer of the nearest case; a model is asked only while there is no case yet."""

    is_modelless, plays = True, False

    def __init__(self, view: RunView) -> None:
        super().__init__(view._replace(is_reasoned=False))

    def prepare(self, task: Question) -> PreparedTask:
        nearest = self.nearest(task, 1)
        return PreparedTask(reply=nearest[0].reply) if nearest else PreparedTask()
