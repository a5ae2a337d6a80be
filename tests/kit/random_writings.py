"""Random but valid events of EXPLORE, EVOLVE and a curator, except memories."""

from random import Random
from typing import Any

from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from tests.kit.random_events import Drawn, drawn


class Writings:
    def __init__(self, random: Random, *, skills: tuple[str, ...], task_types: tuple[str, ...]) -> None:
        self.random, self.skills, self.task_types = random, skills, task_types
        self.patterns: dict[str, tuple[int, int]] = {}
        self.in_use: list[str] = []
        self.quarantined: list[str] = []
        self.slots = {skill: ("", f"attack {skill}") for skill in skills}

    def explored(self, k: int) -> list[v.Event]:
        episode, context = f"explore-{k}", f"task-{k}"
        seen = f"wood {self.random.randrange(3)}"
        events: list[v.Event] = [
            v.TaskContextOpened(
                context_id=context, statement=f"get {seen}", task_type=self.random.choice(self.task_types)
            ),
            v.EntitySeen(entity_id=seen, kind="material"),
            v.EntitySeen(entity_id="axe", kind="tool"),
        ]
        for step in range(self.random.randrange(1, 4)):
            text = f"you see {seen} after {self.random.randrange(9)}"
            observation = sha256_text(text)[:32]
            events.append(self._stepped(k, episode, step, text))
            events.append(v.ObservationRecorded(observation_id=observation, text=text))
            events.append(
                v.EdgeAdded(kind="observed_in", source=f"observation/{observation}", target=f"context/{context}")
            )
        label = self.random.choice(("needs", "yields"))
        events.append(v.EdgeAdded(kind="relation", source="entity/axe", target=f"entity/{seen}", label=label))
        closed = self._drawn(
            v.EpisodeClosed, iteration=k, purpose="explore", episode_id=episode, context_id=context, steps=step + 1
        )
        return [*events, closed, self._recipe_of_actions(k), *self._patterns(k)]

    def authored(self, k: int) -> list[v.Event]:
        """Return what EVOLVE may write: a tool, a retrieval recipe, a refined prompt, a split skill."""
        events: list[v.Event] = [
            self._drawn(v.ReplyRejected, iteration=k, tier="guidance"),
            self._tool(k),
            self._retrieval(k),
            self._refined(k),
        ]
        if k == 1:
            events += self._split(k)
        return events

    def curated(self, memories: list[str]) -> list[v.Event]:
        events: list[v.Event] = []
        for memory_id in self.random.sample(memories + self.in_use, min(2, len(memories + self.in_use))):
            if memory_id not in self.quarantined:
                self.quarantined.append(memory_id)
                events.append(v.MemoryQuarantined(memory_id=memory_id, reason="it misleads", by="user"))
        if self.quarantined and self.random.random() < 0.6:
            back = self.quarantined.pop(self.random.randrange(len(self.quarantined)))
            events.append(v.MemoryReleased(memory_id=back, reason="it does not", by="user"))
        return events

    def ran(self, k: int, purpose: str, question_id: str) -> v.ToolRan:
        return self._drawn(v.ToolRan, iteration=k, purpose=purpose, question_id=question_id)

    def found(self, k: int, purpose: str, question_id: str) -> v.SearchAnswered:
        return self._drawn(v.SearchAnswered, iteration=k, purpose=purpose, question_id=question_id)

    def _drawn(self, cls: type[Drawn], **given: Any) -> Drawn:
        return drawn(cls, self.random, **given)

    def _about(self) -> dict[str, str]:
        return {"skill": self.random.choice(self.skills), "task_type": self.random.choice(self.task_types)}

    def _new_id(self) -> str:
        self.in_use.append(f"{self.random.getrandbits(128):032x}")
        return self.in_use[-1]

    def _stepped(self, k: int, episode: str, step: int, text: str) -> v.EpisodeStepped:
        return self._drawn(
            v.EpisodeStepped,
            iteration=k,
            purpose="explore",
            episode_id=episode,
            step=step,
            observation=text,
            done=False,
        )

    def _recipe_of_actions(self, k: int) -> v.ActionRecipeHarvested:
        return self._drawn(
            v.ActionRecipeHarvested,
            recipe_id=self._new_id(),
            achievement=self.random.choice(("collect wood", "make an axe")),
            actions=("up", "left", "collect wood")[: self.random.randrange(1, 4)],
            iteration=k,
            phase="explore",
            **self._about(),
        )

    def _patterns(self, k: int) -> list[v.Event]:
        pattern_id = self._new_id()
        self.patterns[pattern_id] = (1, 0)
        new = self._drawn(
            v.PatternAbstracted,
            memory_id=pattern_id,
            successes=1,
            failures=0,
            confidence_micro=2 * v.MICRO // 3,
            iteration=k,
            phase="explore",
            **self._about(),
        )
        events: list[v.Event] = [new]
        known = self.random.choice(sorted(self.patterns))
        successes, failures = self.patterns[known][0], self.patterns[known][1] + self.random.randrange(5)
        self.patterns[known] = successes, failures
        confidence = (successes + 1) * v.MICRO // (successes + failures + 2)
        events.append(
            v.PatternSupported(memory_id=known, successes=successes, failures=failures, confidence_micro=confidence)
        )
        if confidence < 3 * v.MICRO // 10:
            events.append(v.PatternPruned(memory_id=known, confidence_micro=confidence, reason="below 0.3"))
            del self.patterns[known]
        return events

    def _tool(self, k: int) -> v.ToolAuthored:
        skill, source = self.random.choice(self.skills), f"def solve(a):\n    return a + {self.random.randrange(4)}"
        tool_id = sha256_text(skill + source)[:32]
        self.in_use += [tool_id] * (tool_id not in self.in_use)
        return self._drawn(
            v.ToolAuthored,
            iteration=k,
            tool_id=tool_id,
            skill=skill,
            task_type=self.task_types[self.skills.index(skill) % len(self.task_types)],
            name="solve",  # the same id is always the same tool
            source=source,
        )

    def _retrieval(self, k: int) -> v.RetrievalRecipeAuthored:
        return self._drawn(
            v.RetrievalRecipeAuthored, memory_id=self._new_id(), iteration=k, phase="evolve", **self._about()
        )

    def _refined(self, k: int) -> v.SkillRefined:
        skill = self.random.choice(self.skills)
        before, after = self.slots[skill], (f"Think {k}.", f"attack {skill} better")
        self.slots[skill] = after
        return self._drawn(
            v.SkillRefined,
            iteration=k,
            skill=skill,
            prompt_template=after[0],
            strategy=after[1],
            prompt_template_before=before[0],
            strategy_before=before[1],
        )

    def _split(self, k: int) -> list[v.Event]:
        skill = self.random.choice(self.skills)
        children = (f"{skill} of two", f"{skill} of many")
        events: list[v.Event] = [self._drawn(v.SkillCreated, skill=child, parent=skill) for child in children]
        events += [v.EdgeAdded(kind="composes_into", source=f"skill/{c}", target=f"skill/{skill}") for c in children]
        task_type = self.random.choice(self.task_types)
        events.append(
            v.EdgeAdded(kind="resolves", source=f"skill/{children[0]}", target=f"task_type/{task_type}", weight=2.0)
        )
        refused = self._drawn(
            v.EdgeRefused, kind="composes_into", source=f"skill/{skill}", target=f"skill/{children[0]}"
        )
        return [self._drawn(v.SkillSplit, iteration=k, skill=skill, children=children), *events, refused]
