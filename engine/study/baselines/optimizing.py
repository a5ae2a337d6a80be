"""Reflective prompt evolution of one instruction, by the package `gepa` itself (GEPA, arXiv 2507.19457, section 3).

The instruction takes the place of the benchmark's words for its task; how an answer ends, extraction and scorer stay
those of all methods. Half of the questions are for reflection, three at a time; the other half serve to choose among
the instructions on the Pareto front. The writer reflects, with the package's own prompt.

Rules
    - A question is asked once with each instruction; if the package asks again, it gets the same answer.
    - The package may spend `CALLS` metric calls per question, including repeated ones.
    - It runs in its own coroutine (greenlet) and calls back for answers, which the search then yields: the package
      knows no log, and a search rebuilt from the log runs it again.
    - A reflection that was lost, or that quotes a guarded question, leaves the instruction unchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import Request
from mage_es.engine.study.baselines.method import (
    PreparedTask,
    PromptSearch,
    PromptTrial,
    Reflection,
    RunView,
    TrialAnswer,
)
from mage_es.events.errors import PrerequisiteError

CALLS = 3
"""Metric calls per question to learn from."""
MINIBATCH = 3
"""How many questions to reflect on together; the package's default."""
INSTALL = "python -m pip install 'mage-es[gepa]'"
INSTRUCTION, PLAIN = "instruction", "Answer the question."
"""The name of the component, and the instruction of a benchmark without one."""
_MOST_TOKENS = 512
"""The limit, in tokens, of an instruction that the learner itself writes: a small model keeps writing until it is cut
off."""
_ASKED, _REPLIED = 4000, 2000


def require_gepa() -> None:
    """Raises `PrerequisiteError` if a package is missing."""
    for package in ("gepa", "greenlet"):
        if find_spec(package) is None:
            raise PrerequisiteError(f"The method gepa needs the package {package}: {INSTALL}")


class Gepa:
    is_writing = True
    reduced = f"at most {CALLS} metric calls for each question to learn from"
    require = staticmethod(require_gepa)

    def __init__(self, view: RunView) -> None:
        require_gepa()
        self._seed, self._own = view.seed, view.task
        self._best = self._first = view.task or PLAIN

    def prepare(self, task: Question) -> PreparedTask:
        return self._with(self._best)

    def search(self, tasks: Sequence[Question]) -> PromptSearch:
        from greenlet import getcurrent, greenlet

        chosen_by = tasks[1::2] or tasks
        worker = greenlet(lambda: self._optimize(tasks[::2], chosen_by))
        move = worker.switch()
        while not worker.dead:
            answer = yield move
            worker.parent = getcurrent()
            move = worker.switch(answer)

    def _optimize(self, reflected: Sequence[Question], chosen_by: Sequence[Question]) -> None:
        from gepa import optimize

        # Answers and texts come from the search's own caller.
        adapter = InstructionAdapter(
            lambda instruction, names: _called_back(PromptTrial(dict.fromkeys(names, self._with(instruction)))),
            lambda request, shown: _called_back(Reflection(request, shown)),
            {},
        )
        optimize(
            seed_candidate={INSTRUCTION: self._first},
            trainset=list(reflected),
            valset=list(chosen_by),
            adapter=adapter,
            reflection_lm=adapter.reflect,
            reflection_minibatch_size=min(MINIBATCH, len(reflected)),
            max_metric_calls=CALLS * (len(reflected) + len(chosen_by)),
            seed=self._seed,
            logger=_Silent(),
            callbacks=[self],
        )

    def on_valset_evaluated(self, event: Mapping[str, Any]) -> None:
        """Keep the best instruction so far, by the package's judgement; this is its callback."""
        if event["is_best_program"]:
            self._best = event["candidate"][INSTRUCTION]

    def _with(self, instruction: str) -> PreparedTask:
        # The first prompt is the one that every method starts from.
        return PreparedTask(task=self._own if instruction == self._first else instruction)


class _Silent:
    def log(self, message: str) -> None:
        pass


class InstructionAdapter:
    """How the package evaluates an instruction, and what a reflection is shown (`gepa.GEPAAdapter`).

    `ask` asks questions with an instruction and returns each outcome by the question's id; `write` returns what the
    writer writes about the questions with some ids, "" if that was lost. `corrections` say, by a question's id, how it
    should have been answered.
    """

    propose_new_texts = None

    def __init__(
        self,
        ask: Callable[[str, Sequence[str]], Mapping[str, TrialAnswer]],
        write: Callable[[Request, tuple[str, ...]], str],
        corrections: Mapping[str, str],
    ) -> None:
        self._ask, self._write, self._corrections = ask, write, corrections
        self._known: dict[tuple[str, str], TrialAnswer] = {}
        self._reflected: tuple[str, tuple[str, ...]] = ("", ())

    def evaluate(self, batch: Sequence[Question], candidate: Mapping[str, str], capture_traces: bool = False) -> Any:
        from gepa import EvaluationBatch

        instruction = candidate[INSTRUCTION]
        new = {task.id for task in batch if (instruction, task.id) not in self._known}
        if new:
            answers = self._ask(instruction, sorted(new))
            self._known |= {(instruction, name): answer for name, answer in answers.items()}
        found = [self._known[instruction, task.id] for task in batch]
        scores = [float(each.verdict is not None and each.verdict.correct) for each in found]
        return EvaluationBatch(outputs=found, scores=scores, trajectories=list(zip(batch, found, strict=True)))

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, str]]]:
        asked: list[tuple[Question, TrialAnswer]] = eval_batch.trajectories
        self._reflected = candidate[INSTRUCTION], tuple(task.id for task, _ in asked)
        return {
            INSTRUCTION: [
                {
                    "Inputs": f"{task.context}\n\n{task.question}".strip()[:_ASKED],
                    "Generated Outputs": answer.reply[:_REPLIED],
                    "Feedback": _feedback(task, answer, self._corrections.get(task.id, "")),
                }
                for task, answer in asked
            ]
        }

    def reflect(self, prompt: str) -> str:
        """Return the reply to a prompt of the package: its `reflection_lm`."""
        instruction, shown = self._reflected
        text = self._write(Request(prompt=prompt, max_tokens=_MOST_TOKENS), shown)
        return text if text.strip() else f"```\n{instruction}\n```"


def _feedback(task: Question, answer: TrialAnswer, correction: str) -> str:
    if answer.verdict is None:
        return "There was no answer that could be scored."
    if answer.verdict.correct:
        return "Right."
    text = f"Wrong. The right answer is: {task.gold}" if task.gold else "Wrong."
    return f"{text}\n{correction}" if correction else text


def _called_back(asked: PromptTrial | Reflection) -> Any:
    from greenlet import getcurrent

    parent = getcurrent().parent
    assert parent is not None
    return parent.switch(asked)
