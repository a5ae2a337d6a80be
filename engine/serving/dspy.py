"""What a run learned, for a DSPy program: `mage_es.dspy.Memory`.

Rules
    - It shows what `open_run(...).wrap(client)` would insert before the same question: the same memories, in the same
      order. DSPy's own adapter formats it: cases become demos, everything else is added to the instructions.
    - A predictor gets memories if its signature has the fields named as question and answer, as input and output: for
      any other step of a program, a case's right answer would be a wrong demo.
    - Nothing is kept from one call to the next, and no predictor's own demos or instructions change. So any number of
      threads may call a program, optimizers see their own predictors, and what they save has no memory in it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

from mage_es.engine.rules.ingredients import CaseParts
from mage_es.engine.run.directory import Run
from mage_es.engine.served.frozen import FrozenRun
from mage_es.engine.serving.note_parts import parts_of
from mage_es.engine.serving.open_run import open_run
from mage_es.events.errors import PrerequisiteError, UsageError

try:
    import dspy
except ImportError as error:
    raise PrerequisiteError(
        f"mage_es.dspy needs the package {error.name}: python -m pip install 'mage-es[dspy]'"
    ) from error


class DspyMemory(dspy.Module):  # type: ignore[misc]
    """The memories of a run, frozen at a marker, as a module of DSPy.

        import dspy, mage_es.dspy

        memory = mage_es.dspy.Memory("support", at="iter-9")
        program = memory.wrap(dspy.ChainOfThought("question -> answer"))
        program(question="How do I reset my router?").memory_ids

    Called by itself it is a retriever: it returns a `dspy.Prediction` with `demos` (cases as `dspy.Example`, nearest
    last), `notes` (everything that is not a case, as one text), `memory_ids` (of both, in order), `passages` (the cases
    as texts), and how near the `nearest` memory is.
    """

    def __init__(
        self,
        run: FrozenRun | Run | Path | str,
        at: str = "latest",
        *,
        question: str = "question",
        answer: str = "answer",
        **how: Any,
    ) -> None:
        """`question` and `answer` are the names of a signature's fields; all options of `open_run` are accepted.

        Raises what `open_run` raises.
        """
        super().__init__()
        self.run = run if isinstance(run, FrozenRun) else open_run(run, at, **how)
        self.question, self.answer = question, answer

    def forward(self, question: str, task_type: str | None = None) -> dspy.Prediction:
        """Return what the run shows for a question; by default its task type is predicted from its text."""
        return self._predict(question, task_type)

    async def aforward(self, question: str, task_type: str | None = None) -> dspy.Prediction:
        return await asyncio.to_thread(self._predict, question, task_type)

    def wrap(self, program: dspy.Module) -> dspy.Module:
        """Return a copy of a program whose predictors of the answer are shown what the run has for the question.

        Their predictions have the ids as `memory_ids`.

        Raises `UsageError` if no predictor takes the question and gives the answer.
        """
        wrapped = program.deepcopy()
        answering = [each for each in wrapped.predictors() if self._answers(each.signature)]
        if not answering:
            seen = ", ".join(str(each.signature.signature) for each in wrapped.predictors()) or "it has no predictor"
            raise UsageError(
                f"No predictor of {type(program).__name__} takes {self.question!r} and gives {self.answer!r} ({seen}): "
                'name its fields, as in Memory(run, question="ticket", answer="team").'
            )
        for predictor in answering:
            # As in `dspy.KNNFewShot`: each call builds its own arguments, and the predictor stays as it is.
            predictor.forward = MethodType(partial(_reminded, self), predictor)
            predictor.aforward = MethodType(partial(_areminded, self), predictor)
        return wrapped

    def _predict(self, question: str, task_type: str | None) -> dspy.Prediction:
        layout = self.run.layout._replace(form="turns")  # demos are turns
        found = self.run.retrieved(question, task_type, layout=layout)
        parts = parts_of(self.run.state, found.memories, layout)
        return dspy.Prediction(
            demos=[self._demo(case) for case in parts.cases],
            notes=parts.text,
            memory_ids=found.memories,
            passages=["\n".join(filter(None, (case.question, case.reasoning, case.answer))) for case in parts.cases],
            nearest=found.nearest,
        )

    def _demo(self, case: CaseParts) -> dspy.Example:
        how = {"reasoning": case.reasoning} if case.reasoning else {}
        return dspy.Example({self.question: case.question, **how, self.answer: case.answer}).with_inputs(self.question)

    def __deepcopy__(self, memo: dict[int, Any]) -> DspyMemory:
        return self  # nothing in it changes, and optimizers copy programs again and again

    def _answers(self, signature: Any) -> bool:
        return self.question in signature.input_fields and self.answer in signature.output_fields


def _reminded(memory: DspyMemory, predictor: dspy.Predict, **given: Any) -> dspy.Prediction:
    if given.get(memory.question) is None:
        return type(predictor).forward(predictor, **given)
    found = memory(question=str(given[memory.question]))
    return _marked(type(predictor).forward(predictor, **given | _shown(found, predictor, given)), found)


async def _areminded(memory: DspyMemory, predictor: dspy.Predict, **given: Any) -> dspy.Prediction:
    if given.get(memory.question) is None:
        return await type(predictor).aforward(predictor, **given)
    found = await memory.acall(question=str(given[memory.question]))
    return _marked(await type(predictor).aforward(predictor, **given | _shown(found, predictor, given)), found)


def _shown(found: dspy.Prediction, predictor: dspy.Predict, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that make a predictor show what was found, after its own instructions and demos."""
    signature = dspy.ensure_signature(given.get("signature", predictor.signature))
    instructions = f"{signature.instructions}\n\n{found.notes}" if found.notes else signature.instructions
    demos = [demo.copy() for demo in found.demos]
    for demo in demos:
        for name in {*demo.keys()} - {*signature.fields}:
            del demo[name]  # such as reasoning, if the predictor gives none
    return {
        "signature": signature.with_instructions(instructions),
        "demos": [*given.get("demos", predictor.demos), *demos],
    }


def _marked(prediction: dspy.Prediction, found: dspy.Prediction) -> dspy.Prediction:
    prediction.memory_ids = found.memory_ids
    return prediction
