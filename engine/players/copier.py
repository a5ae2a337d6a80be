"""The copier: a learner that knows nothing, for any question and any episode.

It repeats what its prompt shows: the answer of the most similar question, or the actions of earlier episodes in their
order. It draws from the options if the prompt shows nothing, or if a temperature above 0 turns an action into a trial.
A draw depends only on the request.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from mage_es.engine.players.prompts import StepPrompt, read_question_prompt, read_step_prompt, sections_of
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request

_OPTION = re.compile(r"^\(?([A-Z]|\d{1,2})[.)] ", re.MULTILINE)
_WORD = re.compile(r"\w+")
_BLANK = "[words of your own]"
"""The placeholder in a valid action for a text that the player chooses."""
_REASON = "An earlier one reads like this."


def reply(request: Request) -> str:
    if "Valid actions" in sections_of(request.prompt):
        return _act(request)
    read = read_question_prompt(request)
    if read.parameters is not None:
        return "none"
    words = _words(read.question)
    likeness = {each.answer: len(words & _words(each.question)) for each in read.examples}
    answer = max(likeness, key=lambda each: likeness[each]) if likeness else _guess(read.question, request)
    if "Finish[" in request.system:
        has_looked = "\nObservation " in sections_of(request.prompt).get("Steps so far", "")
        return f"Thought: {_REASON}\nAction: {f'Finish[{answer}]' if has_looked else f'Search[{read.question}]'}"
    if read.wants_step:
        return f"For this step it is {answer}."
    final = f"{read.before}{answer}{read.after}"
    return final if read.is_direct else f"{_REASON}\n{final}"


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _guess(question: str, request: Request) -> str:
    return _drawn(_OPTION.findall(question) or sorted(_WORD.findall(question)) or ["unknown"], request)


def _drawn(offered: Sequence[str], request: Request) -> str:
    return offered[int(request.sha256[8:24], 16) % len(offered)]


def _act(request: Request) -> str:
    prompt = read_step_prompt(request)
    action = _next_action(prompt, request) if prompt.actions else "none"
    return f"{'ACTION' if 'ACTION: ' in request.system else 'Action'}: {action}"


def _next_action(prompt: StepPrompt, request: Request) -> str:
    """Return the first action that is shown more often than it was done, else one that was not done yet."""
    named = re.compile("|".join(re.escape(action) for action in sorted(prompt.actions, key=len, reverse=True)))
    done = Counter(named.findall(prompt.so_far))
    untried = [action for action in prompt.actions if action not in done]
    is_trial = int(request.sha256[:8], 16) < request.temperature * 16**8
    shown: list[str] = [] if is_trial else named.findall("\n".join(prompt.sections.values()))
    for action in shown:
        done[action] -= 1
        if done[action] < 0:
            return action
    asked = prompt.task.strip().partition("\n")[0]
    return _drawn(untried or prompt.actions, request).replace(_BLANK, f"[{asked.lower()}]")


Copier = partial(StandIn, "builtin/copier", reply)
