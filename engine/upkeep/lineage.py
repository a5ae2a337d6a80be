"""What was derived from a given memory or tool, and what was merely shown together with it, according to a run's log.

Rules
    - Something is derived from an item if a model wrote it from that item. Its origin then names the verdict on a
      prompt that showed the item, a reply to that prompt, or a reply of guidance to a brief that contains the answer to
      it.
    - The case made from a missed question, which holds the data set's own answer and solution, is not derived: it would
      read the same without the item.
    - Only one generation is followed. Whatever was made from answers that saw a derived item is counted separately and
      is not itself derived: with five cases in each prompt, that would soon include everything that a run learned.
    - Items are shown together with it if they were in the same prompt and are not derived from it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from mage_es.engine.askings.requests import Requests
from mage_es.engine.rules.new_memories import CASE
from mage_es.engine.rules.quarantine import OUT_OF_USE, status_of
from mage_es.engine.worth.memories import things_of
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow


class Descent(NamedTuple):
    """The ids of what was `derived`; of what was shown `together` with it, with the number of prompts; how many
    more items belong to the next generation; and how many `answers` were shown the item or what was derived from it, as
    far as these are in use."""

    derived: tuple[str, ...]
    together: Mapping[str, int]
    further: int
    answers: int


def lineage_of(reader: LogReader, state: State, name: str) -> Descent:
    """Return what was derived from an item, given its full id."""
    things, log = dict(things_of(state)), _Log(reader)
    derived = _derived(log, things, {name})
    together = Counter(other for shown in log.shown.values() if name in shown for other in shown)
    kept = {
        other: count for other, count in together.most_common() if other not in (name, *derived) and other in things
    }
    further = _derived(log, things, {name, *derived}) - derived
    in_use = {each for each in (name, *derived) if status_of(state, each) not in OUT_OF_USE}
    return Descent(tuple(each for each in things if each in derived), kept, len(further), log.answers(in_use))


class _Log:
    """The prompts in a log: what each one showed, and the facts that resulted from it."""

    def __init__(self, reader: LogReader) -> None:
        self.shown = dict[tuple[int, str, str], set[str]]()
        self.verdicts, self.calls = list[v.Record](), list[v.Record]()
        self._requests = Requests(reader)
        reads: set[type[v.Event]] = {
            v.QuestionPlanned,
            v.EpisodeStepped,
            v.BundleTrimmed,
            v.AnswerJudged,
            v.ModelCalled,
        }
        for record in reader.records(reads):
            match record.event:
                case v.QuestionPlanned() as planned:
                    others = (*planned.principles, *planned.action_recipes, planned.tool_id, planned.recipe_id)
                    ids = {*(hit.memory_id for hit in planned.memories), *others} - {""}
                    self.shown.setdefault(_asking_of(planned), set()).update(ids)
                case v.EpisodeStepped() as stepped:
                    self.shown.setdefault(_asking_of(stepped), set()).update(stepped.memories)
                case v.BundleTrimmed() as trimmed:
                    self.shown.get(_asking_of(trimmed), set()).discard(trimmed.memory_id)
                case v.AnswerJudged():
                    self.verdicts.append(record)
                case v.ModelCalled(tier="execution" | "guidance"):
                    self.calls.append(record)

    def facts(self, names: Collection[str]) -> Iterator[str]:
        """Yield the ids of facts that resulted from prompts that showed one of these, or from briefs with the answer to
        such a prompt."""
        saw = self._saw(names)
        for record in self.verdicts:
            if _asking_of(record.event) in saw:
                yield record.fact_id.hex()
        for record in self.calls:
            call = record.event
            assert isinstance(call, v.ModelCalled)
            if call.tier == "execution":
                abouts = (call.about, call.about.rpartition("/")[0])
                is_of = any((call.iteration, call.purpose, about) in saw for about in abouts)
            else:
                is_of = self._has_one(call, {question for k, _, question in saw if k == call.iteration})
            if is_of:
                yield record.fact_id.hex()

    def answers(self, names: Collection[str]) -> int:
        """Return how many verdicts are on answers to prompts that showed one of these."""
        saw = self._saw(names)
        return sum(_asking_of(record.event) in saw for record in self.verdicts)

    def _saw(self, names: Collection[str]) -> set[tuple[int, str, str]]:
        return {key for key, shown in self.shown.items() if not shown.isdisjoint(names)}

    def _has_one(self, call: v.ModelCalled, questions: Collection[str]) -> bool:
        if not questions:
            return False
        request = self._requests.request(call.sent)
        # A brief that cannot be read may have had the answer; ids are in it as JSON strings.
        return request is None or any(f'"{name}"' in request.text for name in questions)


def _asking_of(event: Any) -> tuple[int, str, str]:
    """Return the iteration, purpose and question of an event about an asking."""
    return (
        event.iteration,
        event.purpose,
        event.episode_id if isinstance(event, v.EpisodeStepped) else event.question_id,
    )


def _derived(log: _Log, things: Mapping[str, Any], names: Collection[str]) -> set[str]:
    facts = set(log.facts(names))
    return {
        name
        for name, thing in things.items()
        if name not in names and not _is_given(thing) and not facts.isdisjoint(thing.origin.facts)
    }


def _is_given(thing: Any) -> bool:
    """Return whether an item says only what the data set says."""
    return isinstance(thing, MemoryRow) and (thing.outcome, thing.kind) == ("failure_memory", CASE)
