"""The prompt of one step of an episode: what the graph gives at this moment, then task, episode so far, observation.

Rules
    - The graph is consulted at every step: bundle, recipes of actions, plan and principles as they were chosen for
      this step, patterns of the task type, and the relations that lead on from what is in sight or asked for.
    - The arm `none` shows nothing of it. In the shuffled control all of it is another task's.
    - Observations and effects are the environment's words: quoted, like everything retrieved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.rules.ingredients import sections_of
from mage_es.engine.rules.prompt import Asked, Prompt, Quote, Section, quoted, render_answer
from mage_es.engine.setting import Setting
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import State

STEP_TEMPLATE_OF_ROUTE = {
    "direct": "act_direct",
    "cot": "act_cot",
    "chain": "act_cot",
    "cot_principles": "act_cot",
    "tool": "act_cot",
}
"""Which template a routing arm's steps have. `chain` adds the plan; episodes use no tool."""
EXPLORING = "explore"
"""The template of the Explorer's steps."""
STEP_TEMPLATES = frozenset({EXPLORING, *STEP_TEMPLATE_OF_ROUTE.values()})
"""What tells the plan of an episode from that of a question."""
PATTERNS = 16
"""Most patterns in a prompt, the most confident first."""
RELATIONS = 24
"""Most relations in a prompt, the nearest first."""


class Moment(NamedTuple):
    """Where an episode stands: what is shown, the actions offered, and the steps so far, each a line or more."""

    observation: str
    actions: Sequence[str]
    lines: Sequence[str] = ()


class Opening(NamedTuple):
    """How an episode begins: its first moment, and the names of the entities that are shown there."""

    moment: Moment
    entities: Sequence[str]


class Consulted(NamedTuple):
    """What the graph is asked about: a task type, and entities by their names. A control's are another task's."""

    task_type: str
    entities: Sequence[str]


def retrieval_text(question: str, observation: str) -> str:
    """Return what a step retrieves by: the task's statement and what is observed."""
    return f"{question}\n{observation}"


def step_prompt(
    setting: Setting, state: State, planned: QuestionPlanned, question: Question, moment: Moment, *, about: Consulted
) -> Prompt:
    """Return the prompt of a step. `planned.memories` must be the bundle of this very step."""
    sections = sections_of(state, planned)
    if planned.search_arm != "none":
        sections.append(Section("Patterns", _patterns(state, about.task_type)))
        sections.append(Section("World", _relations(state, about.entities)))
    if planned.template == EXPLORING:
        sections.append(Section("Brief", _brief(state)))
    asked = Asked(
        _as_question(question, moment, setting.config.episode_history),
        question.context,
        setting.answer_format,
        is_instructed=bool(planned.skill and state.slots.prompt_template(planned.skill)),
    )
    return render_answer(planned.template, sections, asked)


def _as_question(question: Question, moment: Moment, history: int) -> str:
    first = max(0, len(moment.lines) - history)
    lines = [f"{number}. {line}" for number, line in enumerate(moment.lines[first:], start=first + 1)]
    parts = [
        question.question,
        *([f"## Episode so far\n\n{quoted(chr(10).join(lines))}"] if lines else []),
        f"## Observation\n\n{quoted(moment.observation)}",
        "## Valid actions\n\n" + "\n".join(f"- {' '.join(action.splitlines())}" for action in moment.actions),
    ]
    return "\n\n".join(parts)


def _patterns(state: State, task_type: str) -> list[Quote]:
    return [Quote(f"memory/{row.memory_id}", row.text) for row in state.patterns.of(task_type)[:PATTERNS]]


def _relations(state: State, entities: Sequence[str]) -> list[Quote]:
    """Return what is known to relate to some entities, and to those that they lead to: breadth first, each once."""
    waiting = deque(dict.fromkeys(entities))
    seen = set(waiting)
    found: list[Quote] = []
    while waiting:
        name = waiting.popleft()
        for label, node in state.graph.related(f"entity/{name}"):
            other = node.removeprefix("entity/")
            found.append(Quote(f"entity/{name}", f"{name} {label} {other}."))
            if len(found) == RELATIONS:
                return found
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return found


def _brief(state: State) -> list[Quote]:
    plan = state.progress.iteration_plan
    return [Quote(f"iteration/{plan.iteration}", plan.brief)] if plan and plan.brief else []
