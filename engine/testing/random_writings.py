"""Random but valid events of EXPLORE, EVOLVE and a curator, except memories."""

from __future__ import annotations

from random import Random

from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import (
    MICRO,
    ActionRecipeHarvested,
    EdgeAdded,
    EdgeRefused,
    EntitySeen,
    EpisodeClosed,
    EpisodeStepped,
    Event,
    MemoryQuarantined,
    MemoryReleased,
    ObservationRecorded,
    Origin,
    Parameter,
    PatternAbstracted,
    PatternPruned,
    PatternSupported,
    ReplyRejected,
    RetrievalRecipeAuthored,
    SearchAnswered,
    SkillCreated,
    SkillRefined,
    SkillSplit,
    TaskContextOpened,
    ToolAuthored,
    ToolExample,
    ToolRan,
)


class Writings:
    def __init__(self, random: Random, *, skills: tuple[str, ...], task_types: tuple[str, ...]) -> None:
        self.random, self.skills, self.task_types = random, skills, task_types
        self.patterns: dict[str, tuple[int, int]] = {}
        self.in_use: list[str] = []
        self.quarantined: list[str] = []
        self.slots = {skill: ("", f"attack {skill}") for skill in skills}

    def explored(self, k: int) -> list[Event]:
        episode, context = f"explore-{k}", f"task-{k}"
        seen = f"wood {self.random.randrange(3)}"
        events: list[Event] = [
            TaskContextOpened(
                context_id=context, statement=f"get {seen}", task_type=self.random.choice(self.task_types)
            ),
            EntitySeen(entity_id=seen, kind="material"),
            EntitySeen(entity_id="axe", kind="tool"),
        ]
        for step in range(self.random.randrange(1, 4)):
            text = f"you see {seen} after {self.random.randrange(9)}"
            observation = sha256_text(text)[:32]
            events.append(self._stepped(k, episode, step, text))
            events.append(ObservationRecorded(observation_id=observation, text=text))
            events.append(
                EdgeAdded(kind="observed_in", source=f"observation/{observation}", target=f"context/{context}")
            )
        label = self.random.choice(("needs", "yields"))
        events.append(EdgeAdded(kind="relation", source="entity/axe", target=f"entity/{seen}", label=label))
        closed = EpisodeClosed(
            iteration=k,
            purpose="explore",
            episode_id=episode,
            context_id=context,
            steps=step + 1,
            score_micro=MICRO // 2,
            achievements=("collect wood",),
            unparsed=0,
        )
        return [*events, closed, self._recipe_of_actions(k), *self._patterns(k)]

    def authored(self, k: int) -> list[Event]:
        """Return what EVOLVE may write: a tool, a retrieval recipe, a refined prompt, a split skill."""
        events: list[Event] = [
            ReplyRejected(
                iteration=k,
                tier="guidance",
                agent="skill_discovery",
                purpose="tools",
                about=self.task_types[0],
                attempt=0,
                problem="no JSON",
            ),
            self._tool(k),
            self._retrieval(k),
            self._refined(k),
        ]
        if k == 1:
            events += self._split(k)
        return events

    def curated(self, memories: list[str]) -> list[Event]:
        events: list[Event] = []
        for memory_id in self.random.sample(memories + self.in_use, min(2, len(memories + self.in_use))):
            if memory_id not in self.quarantined:
                self.quarantined.append(memory_id)
                events.append(MemoryQuarantined(memory_id=memory_id, reason="it misleads", by="user"))
        if self.quarantined and self.random.random() < 0.6:
            back = self.quarantined.pop(self.random.randrange(len(self.quarantined)))
            events.append(MemoryReleased(memory_id=back, reason="it does not", by="user"))
        return events

    def ran(self, k: int, purpose: str, question_id: str) -> ToolRan:
        return ToolRan(
            iteration=k,
            purpose=purpose,
            question_id=question_id,
            tool_id=sha256_text("tool")[:32],
            arguments='{"a": 1}',
            result=str(self.random.randrange(9)),
            problem="",
        )

    def found(self, k: int, purpose: str, question_id: str) -> SearchAnswered:
        is_there = self.random.random() < 0.6
        return SearchAnswered(
            iteration=k,
            purpose=purpose,
            question_id=question_id,
            place=self.random.randrange(1, 4),
            search="record",
            wanted="page",
            query="Bartók",
            titles=("Béla Bartók", "Bartók (crater)")[: 1 if is_there else 2],
            texts=("A composer.",) if is_there else (),
        )

    def _stepped(self, k: int, episode: str, step: int, text: str) -> EpisodeStepped:
        return EpisodeStepped(
            iteration=k,
            purpose="explore",
            episode_id=episode,
            step=step,
            action="collect wood",
            parsed=True,
            observation=text,
            reward_micro=0,
            achievements=(),
            done=False,
        )

    def _recipe_of_actions(self, k: int) -> ActionRecipeHarvested:
        recipe_id = sha256_text(f"recipe {k} {self.random.random()}")[:32]
        self.in_use.append(recipe_id)
        return ActionRecipeHarvested(
            recipe_id=recipe_id,
            skill=self.random.choice(self.skills),
            task_type=self.random.choice(self.task_types),
            achievement=self.random.choice(("collect wood", "make an axe")),
            actions=("up", "left", "collect wood")[: self.random.randrange(1, 4)],
            origin=Origin(facts=(f"episode/explore-{k}",)),
            iteration=k,
            phase="explore",
            ordinal=0,
        )

    def _patterns(self, k: int) -> list[Event]:
        pattern_id = sha256_text(f"pattern {k} {self.random.random()}")[:32]
        self.patterns[pattern_id] = (1, 0)
        self.in_use.append(pattern_id)
        events: list[Event] = [
            PatternAbstracted(
                memory_id=pattern_id,
                task_type=self.random.choice(self.task_types),
                skill=self.random.choice(self.skills),
                text="where there is water there is no wood",
                successes=1,
                failures=0,
                confidence_micro=2 * MICRO // 3,
                origin=Origin(facts=(f"episode/explore-{k}",)),
                iteration=k,
                phase="explore",
                ordinal=0,
            )
        ]
        known = self.random.choice(sorted(self.patterns))
        successes, failures = self.patterns[known][0], self.patterns[known][1] + self.random.randrange(5)
        self.patterns[known] = successes, failures
        confidence = (successes + 1) * MICRO // (successes + failures + 2)
        events.append(
            PatternSupported(memory_id=known, successes=successes, failures=failures, confidence_micro=confidence)
        )
        if confidence < 3 * MICRO // 10:
            events.append(PatternPruned(memory_id=known, confidence_micro=confidence, reason="below 0.3"))
            del self.patterns[known]
        return events

    def _tool(self, k: int) -> ToolAuthored:
        skill, source = self.random.choice(self.skills), f"def solve(a):\n    return a + {self.random.randrange(4)}"
        tool_id = sha256_text(skill + source)[:32]
        self.in_use += [tool_id] * (tool_id not in self.in_use)
        active = self.random.random() < 0.8
        return ToolAuthored(
            iteration=k,
            tool_id=tool_id,
            skill=skill,
            task_type=self.task_types[self.skills.index(skill) % len(self.task_types)],
            name="solve",
            description="adds",
            parameters=(Parameter(name="a", meaning="a number"),),
            source=source,
            examples=(ToolExample(arguments='{"a": 1}', result="2"),),
            active=active,
            problem="" if active else "gave 3",
            origin=Origin(facts=(sha256_text("call")[:32],)),
        )

    def _retrieval(self, k: int) -> RetrievalRecipeAuthored:
        memory_id = sha256_text(f"retrieval {k} {self.random.random()}")[:32]
        self.in_use.append(memory_id)
        return RetrievalRecipeAuthored(
            memory_id=memory_id,
            task_type=self.random.choice(self.task_types),
            skill=self.random.choice(self.skills),
            query_template="what is asked in: {question}",
            success_quota=2,
            failure_quota=1,
            least_similarity=0.25,
            reasoning="the numbers do not matter",
            origin=Origin(facts=(sha256_text("call")[:32],)),
            iteration=k,
            phase="evolve",
            ordinal=0,
        )

    def _refined(self, k: int) -> SkillRefined:
        skill = self.random.choice(self.skills)
        before, after = self.slots[skill], (f"Think {k}.", f"attack {skill} better")
        self.slots[skill] = after
        return SkillRefined(
            iteration=k,
            skill=skill,
            prompt_template=after[0],
            strategy=after[1],
            prompt_template_before=before[0],
            strategy_before=before[1],
            origin=Origin(facts=(sha256_text("call")[:32],)),
        )

    def _split(self, k: int) -> list[Event]:
        skill = self.random.choice(self.skills)
        children = (f"{skill} of two", f"{skill} of many")
        events: list[Event] = [
            SkillCreated(
                skill=child,
                mastery=0.25,
                prompt_template="",
                strategy="",
                parent=skill,
                description=f"a part of {skill}",
            )
            for child in children
        ]
        events += [EdgeAdded(kind="composes_into", source=f"skill/{c}", target=f"skill/{skill}") for c in children]
        task_type = self.random.choice(self.task_types)
        events.append(
            EdgeAdded(kind="resolves", source=f"skill/{children[0]}", target=f"task_type/{task_type}", weight=2.0)
        )
        refused = EdgeRefused(
            kind="composes_into",
            source=f"skill/{skill}",
            target=f"skill/{children[0]}",
            reason="it would close a cycle",
        )
        split = SkillSplit(
            iteration=k, skill=skill, children=children, reason="it is two", origin=Origin(facts=("call",))
        )
        return [split, *events, refused]
