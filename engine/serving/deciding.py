"""What a served run learned, decided again: what a client said and what it proposes, and what each publish wrote.

Rules
    - A key speaks only about its own inferences and sessions, with valid values, and proposes only what its
      demonstration says. That it really said so has to be taken on trust.
    - The rewards, memories and verdicts of a publish are decided again from the log before them, by the same functions.
      So no text that a client proposed comes into use unless anchors that saw it, a person, or a key whose answers are
      gold approved it. That the file of keys said so of a key has to be taken on trust, too.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mage_es.engine.commands import Command, RecordFacts
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import extract_of
from mage_es.engine.serving.publish import published_again, settling
from mage_es.engine.serving.rules.feedback import (
    Feedback,
    GiveFeedback,
    draft_of,
    feedback_event,
    proposing,
)
from mage_es.engine.serving.rules.publishing import decide_settling
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.projections.fold import State, fold

_SETTLING = (v.BanditUpdated, v.MemoryQuarantined, v.ProposalSettled)


class Deciding:
    """Returns the commands that decided a batch of a served run's log, given the state before it. It is called with
    each batch in order."""

    def __init__(self, world: World, reader: LogReader) -> None:
        self._world, self._reader = world, reader
        words = list(reader.of(v.FeedbackGiven, since=last_inherited(reader) + 1))
        self._about = {*(word.inference for word in words), *((word.key, word.session) for word in words)}
        self._opened, self._sessions = dict[str, v.InferenceOpened](), set[tuple[str, str]]()
        self._learn, self._before = "off", State()
        self._rewarded: Sequence[v.BanditUpdated] | None = None
        """The rewards that UPDATE of the open iteration gave; None if there is nothing to settle."""

    def __call__(self, state: State, records: Sequence[v.Record]) -> list[Command]:
        first, mark = records[0], records[-1]
        match mark.event:
            case v.PhaseCompleted(phase="update"):
                self._rewarded = [each.event for each in records if isinstance(each.event, v.BanditUpdated)]
                return [RecordFacts(published_again(self._world.setting, state, self._reader, records))]
            case v.IterationClosed():
                closed = v.Draft(event=mark.event, iteration=mark.iteration, phase=mark.phase)
                return [RecordFacts([*self._settled(state, records), closed])] if self._rewarded is not None else []
        if isinstance(first.event, _SETTLING) and first.phase == "serve":
            return [RecordFacts(list(self._settled(state, records)))]
        if isinstance(first.event, v.FeedbackGiven):
            return [RecordFacts(list(self._said(state, first.event, records)))]
        for record in records:
            self._take_in(record.event)
        return []

    def _take_in(self, event: v.Event) -> None:
        match event:
            case v.ServingStarted():
                self._learn = event.learn
            case v.InferenceOpened():
                if event.inference in self._about:
                    self._opened[event.inference] = event
                if (event.key, event.session) in self._about:
                    self._sessions.add((event.key, event.session))

    def _settled(self, state: State, records: Sequence[v.Record]) -> Sequence[v.Draft]:
        rewarded, self._rewarded = self._rewarded or (), None

        def before() -> State:
            until = self._reader.last(v.IterationClosed, until=records[0].seq - 1)
            self._before = fold(self._reader, until=until, state=self._before)
            return self._before

        return decide_settling(
            state, settling(self._world, state, self._reader, before, records[0].iteration, rewarded)
        )

    def _said(self, state: State, given: v.FeedbackGiven, records: Sequence[v.Record]) -> Iterator[v.Draft]:
        """Yield the feedback as it should be on record, and the memory that it proposes; nothing if it may not be
        recorded."""
        about = self._opened.get(given.inference)
        is_own = (about.key, about.session) == (given.key, given.session) if about else not given.inference
        if self._learn == "off" or not is_own or (given.key, given.session) not in self._sessions:
            return
        said = _feedback(given)
        event = msgspec.structs.replace(
            feedback_event(said, key=given.key, session=given.session),
            feedback=given.feedback,
            trust=given.trust if self._learn == "propose" else "none",
        )
        proposed = next((each.event for each in records if isinstance(each.event, v.MemoryProposed)), None)
        if proposed is None or about is None:
            yield draft_of(msgspec.structs.replace(event, unused=given.unused))
            return
        # Without its text on record, the question is the one that the server knew then.
        question = "" if about.question_cut or about.shape == "search" else about.question
        question = question or proposed.question
        answer = msgspec.json.decode(given.text)["answer"]
        command = GiveFeedback(
            said,
            given.key,
            event.trust,
            given.session,
            question=question,
            vector=self._world.embedder.encode([question])[0],
            task_type=about.task_type or proposed.task_type,
            extracted="" if proposed.answer == answer.strip() else extract_of(self._world.benchmark)(answer),
        )
        yield from proposing(self._world.setting, state, command, event)


def _feedback(given: v.FeedbackGiven) -> Feedback:
    """Return what a client may have sent; the log does not say under which idempotency key."""
    value: Any = given.text
    match given.kind:
        case "bool":
            value = bool(given.value_micro)
        case "float":
            value = given.value_micro / v.MICRO
        case "demonstration":
            parts = msgspec.json.decode(given.text)
            value = parts if parts.keys() != {"answer"} else parts["answer"]
    return Feedback(
        metric=given.metric,
        value=value,
        idempotency_key="unknown",
        inference_id=given.inference,
        session_id="" if given.inference else given.session,
        kind="demonstration" if given.kind == "demonstration" and isinstance(value, str) else "",
    )
