"""Small states built from events: skills with prerequisites and mastery, principles, recipes, tools."""

import numpy as np

from mage_es.engine.config import Config
from mage_es.engine.rules.retrieval import SEARCH_ARMS
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.kit.plain_events import plain
from tests.paper_parts import PAPER_PARTS


def setting_of(**changes: object) -> Setting:
    """Return a setting of wordmath's configuration with the paper's parts, the whole cascade and some changes, one task
    type `t` and no questions."""
    cascade = dict.fromkeys(("cascade_principles", "cascade_plan", "cascade_frontier"), True)
    return Setting(Config(benchmark="wordmath", **{**PAPER_PARTS, **cascade, **changes}), (), (), (), ("t",), "")  # type: ignore[arg-type]


class Built:
    """A state, and a method for each fact that a test puts into it. Task type `t` is resolved by the skill `goal`."""

    def __init__(self) -> None:
        self.state = State()
        self.ordinal = 0
        self.skill("goal")
        self.state.apply(v.TaskTypeCreated(task_type="t", description=""))
        self.edge("resolves", "skill/goal", "task_type/t")

    def skill(self, name: str, mastery: float = 0.0, needs: tuple[str, ...] = (), parts: tuple[str, ...] = ()) -> None:
        """Create a skill (`goal` is there) or add to it what it needs and is composed of."""
        if name not in self.state.graph.skills():
            self.state.apply(v.SkillCreated(skill=name, mastery=mastery, prompt_template="", strategy=""))
        for kind, others in (("prerequisite_of", needs), ("composes_into", parts)):
            for other in others:
                self.edge(kind, f"skill/{other}", f"skill/{name}")

    def edge(self, kind: str, source: str, target: str) -> None:
        """Add an edge."""
        self.state.apply(v.EdgeAdded(kind=kind, source=source, target=target))

    def master(self, skill: str, mastery: float = 0.9) -> None:
        """Bring a skill's mastery to a value."""
        self.state.apply(
            v.MasteryUpdated(iteration=0, skill=skill, before=0, after=mastery, evidence=1, successes=1, failures=0)
        )

    def memory(
        self,
        name: str,
        outcome: v.Outcome = "success_memory",
        *,
        skill: str = "goal",
        vector: tuple[float, ...] = (1, 0),
        steps: tuple[v.Step, ...] = (),
        kind: str = "",
    ) -> None:
        """Append a memory of task type `t` about a question `q-NAME`."""
        self.ordinal += 1
        direction = np.array(vector, dtype=np.float32)
        self.state.apply(
            v.MemoryAppended(
                memory_id=name,
                outcome=outcome,
                kind=kind or ("specific" if outcome == "failure_memory" else ""),
                task_type="t",
                skill=skill,
                question_id=f"q-{name}",
                question=f"What of {name}?",
                recognise="",
                reasoning=name,
                answer="1",
                wrong_answer="",
                steps=steps,
                origin=v.Origin(),
                iteration=0,
                phase="evolve",
                ordinal=self.ordinal,
                embedding=to_bytes(direction / np.linalg.norm(direction)),
            )
        )

    def actions(self, name: str, skill: str, achievement: str) -> None:
        """Harvest an action recipe."""
        self.ordinal += 1
        self.state.apply(
            v.ActionRecipeHarvested(
                recipe_id=name,
                skill=skill,
                task_type="t",
                achievement=achievement,
                actions=("look", "take", "use"),
                origin=v.Origin(),
                iteration=0,
                phase="update",
                ordinal=self.ordinal,
                question_id=f"q-{name}",
            )
        )

    def tool(
        self, name: str = "tool1", skill: str = "goal", *, active: bool = True, questions: tuple[str, ...] = ()
    ) -> None:
        """Author a tool with an example of each of some questions."""
        examples = tuple(v.ToolExample(arguments="{}", result="1", question_id=name) for name in questions)
        self.state.apply(
            plain(v.ToolAuthored, tool_id=name, skill=skill, task_type="t", name=name, examples=examples, active=active)
        )

    def recipe(
        self, name: str = "recipe1", *, quotas: tuple[int, int] = (2, 1), least: float = 0.0, template: str = ""
    ) -> v.RetrievalRecipeAuthored:
        """Author a retrieval recipe for `t`, and return it."""
        self.ordinal += 1
        event = v.RetrievalRecipeAuthored(
            memory_id=name,
            task_type="t",
            skill="goal",
            query_template=template,
            success_quota=quotas[0],
            failure_quota=quotas[1],
            least_similarity=least,
            reasoning="",
            origin=v.Origin(),
            iteration=0,
            phase="evolve",
            ordinal=self.ordinal,
        )
        self.state.apply(event)
        return event

    def reward(self, arm: str, *, alpha: int, beta: int, pulls: int, skill: str = "goal") -> None:
        """Give an arm of task type `t` or of a skill a posterior, in ones."""
        is_search = arm in SEARCH_ARMS
        assert is_search or arm in ROUTING_ARMS
        self.state.apply(
            v.BanditUpdated(
                bandit="search" if is_search else "routing",
                key="t" if is_search else skill,
                arm=arm,
                question_id="q",
                reward_micro=0,
                alpha_before=0,
                beta_before=0,
                alpha_after=alpha * v.MICRO,
                beta_after=beta * v.MICRO,
                pulls_after=pulls,
            )
        )
