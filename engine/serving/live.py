"""A served run open for writing: what goes into each request, recorded before the request is sent.

Theory of operation
    `prepare` computes: which session a request belongs to, what was put into its earlier turns, and what the state of
    its marker has for its latest one. It waits for nothing. `submit` makes the result durable. `close_inference`
    records the outcome of the request; no request waits for that.

    The state that requests see is frozen at a marker (a closed iteration). The live state, to which events are applied,
    belongs to the journal and to a session that publishes. When such a session has closed an iteration, `advance` shows
    it to sessions of clients that begin later. An injection that is not on record is not made: if `submit` fails, the
    request is sent without it.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypedDict, Unpack, cast, get_args

import msgspec

from mage_es.engine.commands import Curation, RecordFacts
from mage_es.engine.decide import decide
from mage_es.engine.models.registry import Models
from mage_es.engine.rules.quarantine import OUT_OF_USE, status_of
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import Benchmark, extract_of
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.served.frozen import FrozenRun, TurnMemories, question_of
from mage_es.engine.served.inferences import (
    InferenceReport,
    Recorded,
    explained,
    has_session,
    left_open,
    not_recorded,
    recorded,
)
from mage_es.engine.served.notes import DEFAULT_BOUNDS, NOTHING, Note, NoteBounds, layout_of, note_of
from mage_es.engine.serving.frozen_runs import FrozenRuns
from mage_es.engine.serving.journal import RETRY_S, Health, Journal, Recording
from mage_es.engine.serving.opening import ReadyToServe, ServedRun, ready_to_serve
from mage_es.engine.serving.publish import Published, publish_beside
from mage_es.engine.serving.replies import ReplyUsage
from mage_es.engine.serving.rules.feedback import (
    Feedback,
    GiveFeedback,
    draft_of,
    feedback_event,
    give_feedback,
    not_found,
    question_in,
    unused_if_refused,
)
from mage_es.engine.serving.rules.sittings import SALT_BYTES, is_held_back
from mage_es.engine.serving.sessions import INFERENCE, Sessions, TurnHabits
from mage_es.engine.serving.shapes import Reading, Turn
from mage_es.engine.serving.watched import WatchedEmbedder
from mage_es.engine.worth.memories import MemoryReport, curations, item_of, reported
from mage_es.engine.worth.proposals import require_learned
from mage_es.events import vocabulary as v
from mage_es.events.disk import FileSystem
from mage_es.events.errors import MageError, NotFound, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.signing.heads import naming, sign_head
from mage_es.events.signing.notes import Signer
from mage_es.projections.memory import MemoryRow

Learn = Literal["off", "log", "propose"]
Wish = Literal["on", "off", "shadow"]
_NOTES = 2_048
"""How many rendered notes are kept."""
LONGEST_NAME, _LONGEST_QUESTION, LONGEST_TEXT = 128, 8_000, 32_000
"""Limits, in characters, on a session's name and a recorded model or reply id, on a turn to look up, and on a recorded
text, so that no client can quickly fill memory or the disk."""
_KILLED = "the process ended before it did"


def wish_of(headers: Mapping[str, str]) -> Wish:
    """Return what a client asks for in its header X-Mage-Memory, in upper or lower case. Raises `UsageError`."""
    said = headers.get("x-mage-memory", "on")
    if (wish := said.strip().lower()) not in get_args(Wish):
        raise UsageError(f"X-Mage-Memory is {said!r:.40}: it may be on, off or shadow.")
    return cast(Wish, wish)


class Prepared(NamedTuple):
    """An inference, and by turn number what to insert before each turn, including earlier ones."""

    opened: v.InferenceOpened
    notes: Mapping[int, Note]
    waiting: str
    """SHA-256 of the turn that waits for its first reply; empty if the latest has one."""

    @property
    def header_values(self) -> dict[str, str]:
        """The content of the headers: the inference, the marker, and the ids of the inserted memories, or why there are
        none."""
        opened = self.opened
        memories = ",".join(opened.memories) if opened.treatment == "memory" else opened.treatment
        marker = str(Marker("iteration", opened.marker))
        return {"inference": opened.inference, "marker": marker, "memories": memories}


class ServingOptions(TypedDict, total=False):
    """How a run is served, as `LiveRun` explains."""

    learn: Learn
    holdback: float
    record_texts: bool
    upstream: str
    bounds: NoteBounds
    say: Callable[[str], None]
    retry_s: float
    signer: Signer | None


class LiveRun:
    """One process serving a run. `prepare` may be called from any thread, the coroutines from any event loop."""

    def __init__(
        self,
        opened: ServedRun,
        *,
        learn: Learn = "log",
        holdback: float = 0.05,
        record_texts: bool = False,
        upstream: str = "",
        bounds: NoteBounds = DEFAULT_BOUNDS,
        say: Callable[[str], None] = lambda words: None,
        retry_s: float = RETRY_S,
        signer: Signer | None = None,
    ) -> None:
        """Start serving; the start is on record when this returns. `holdback` is the share of sessions that get no
        memory. `say` is called when the disk refuses events and when it accepts them again, which is tried every
        `retry_s` seconds; likewise for the embedder, which each request tries. With a `signer` the head is signed when
        serving begins and when it ends.

        Raises `WriterPoisoned` if the disk refuses.
        """
        self.run, self.log, world, self.state = opened

        def warn(words: str) -> None:
            say(f"{self.run.id}: {words}")

        self._embedder = WatchedEmbedder(world.embedder, warn)
        self.world = world._replace(embedder=self._embedder)
        self.learn, self.lock, self._has_texts = learn, threading.RLock(), record_texts
        self._keeping = threading.Lock()  # held while a publish reads what was learned, or a person changes it
        self.layout, traffic = layout_of(self.world.setting, self.state), self.state.traffic
        # Kept, so that a session stays on its side however often the process is restarted.
        salt, share = traffic.salt or secrets.token_hex(SALT_BYTES), round(holdback * v.MICRO)
        started = v.ServingStarted(
            process=traffic.processes + 1,
            learn=learn,
            holdback_micro=share,
            salt=salt,
            has_texts=record_texts,
            upstream=upstream,
            min_similarity=-1.0 if bounds.min_similarity == "auto" else float(bounds.min_similarity),
            max_note_tokens=bounds.max_tokens,
            task_types=bounds.task_types,
            layout=self.layout.form,
            is_bare=self.layout.answers_only,
        )
        self.process, self._numbers = started.process, itertools.count(1)
        self._habits, self._counting, self._looked, self._far = TurnHabits(), threading.Lock(), 0, 0
        self._sessions = Sessions(lambda key, session: is_held_back(salt, key, session, share_micro=share))
        self._reader = LogReader(self.run.log_path)
        self._sessions.recall(self._reader)
        self._reading, self._states = threading.Lock(), FrozenRuns(self.run, self.world, bounds)
        self.frozen = self._states.at
        self._note = lru_cache(maxsize=_NOTES)(self._rendered)
        self.marker = self.state.progress.closed
        self.unpublished = ""
        """Why the last publish of this process failed; "" if none did."""
        self.frozen(self.marker)
        self.journal = Journal(
            self.log,
            self.state,
            self.lock,
            reopen=self._reopened,
            say=warn,
            retry_s=retry_s,
        )
        # Only this process can close what was open when the last one was killed.
        cut = (ReplyUsage().closing(name, "", "cut", problem=_KILLED) for name in left_open(self._reader))
        self.journal.submit([started, *cut]).result()
        self._signer = signer
        self._sign()

    @classmethod
    def open(
        cls,
        run: Run,
        at: str = "latest",
        *,
        runs_dir: Path | str | None = None,
        name: str | None = None,
        data_dir: Path | str | None = None,
        benchmark: Benchmark | None = None,
        embedder: Embedder | None = None,
        fs: FileSystem | None = None,
        require: Callable[[Run, World], None] = lambda served, world: None,
        **options: Unpack[ServingOptions],
    ) -> LiveRun:
        """Start serving what a run had learned at a marker, in a separate run (opening.py), with these options of
        `LiveRun`."""
        ready = ready_to_serve(
            run,
            at,
            name=name,
            layout=options.get("bounds", DEFAULT_BOUNDS).layout,
            runs_dir=runs_dir,
            data_dir=data_dir,
            benchmark=benchmark,
            embedder=embedder,
            fs=fs,
            require=require,
        )
        return cls.begin(ready, **options)

    @classmethod
    def begin(cls, ready: ReadyToServe, **options: Unpack[ServingOptions]) -> LiveRun:
        """Start serving a run, with these options of `LiveRun`; nothing is created if one is not valid."""
        if not 0 <= (holdback := options.get("holdback", 0.0)) <= 1:
            raise UsageError(f"holdback is {holdback}: give a share of the sessions, such as 0.05.")
        opened = ready.open()
        try:
            return cls(opened, **options)
        except BaseException:  # also Ctrl-C: the log stays locked until it is closed
            opened.log.close()
            raise

    def _reopened(self, interruption: int, lost: int) -> tuple[Log, Sequence[v.Draft]]:
        """Reopen the log, and update the state. What was written but never acknowledged is still on record. Its
        requests were sent without their notes, so their ends are recorded with the end of the interruption."""
        self.log = self.log.reopened()
        open_ends, is_curated = dict[str, v.InferenceClosed](), False
        for record in LogReader(self.run.log_path).records(since=self.state.seq + 1):
            self.state.apply(event := record.event)
            self.state.seq = record.seq
            if isinstance(event, v.InferenceOpened):
                late = "the log did not take it in time"
                open_ends[event.inference] = ReplyUsage().closing(event.inference, "", "bypassed", problem=late)
            elif isinstance(event, v.InferenceClosed):
                open_ends.pop(event.inference, None)
            is_curated |= isinstance(event, v.MemoryQuarantined | v.MemoryReleased)
        if is_curated:
            self._states.renew()
        resumed = v.RecordingResumed(process=self.process, interruption=interruption, lost=lost)
        k = self.state.progress.closed + 1
        drafts = [v.Draft(event=event, iteration=k, phase="serve") for event in (resumed, *open_ends.values())]
        return self.log, drafts

    # ------------------------------------------------------------ requests

    def prepare(
        self,
        reading: Reading,
        shape: v.RequestShape,
        *,
        session: str = "",
        key: str = "",
        memory: Wish = "on",
        task_type: str | None = None,
        is_retry: bool = False,
    ) -> Prepared:
        """Return what to put into a request. A repeated request stays in its session, on the same side of the coin.

        Raises `UsageError` for a task type that the run does not have, or a session's name that is too long.
        """
        if len(session) > LONGEST_NAME:
            raise UsageError(f"X-Session-Id has {len(session)} characters: give at most {LONGEST_NAME}.")
        name = self._named()
        session = self.session_of(reading, session=session, key=key, is_retry=is_retry) or name
        known = self._sessions.conversation(key, session, self.marker)
        frozen = self.frozen(known.marker)
        if task_type is not None:
            frozen.require_task_type(task_type)
        latest = reading.turns[-1] if reading.turns else None
        first = self._sessions.shown(key, session, [latest])[0] if latest else None
        text = latest.text.strip() if latest else ""
        event = v.InferenceOpened(
            inference=name,
            session=session,
            key=key,
            shape=shape,
            model=reading.model[:LONGEST_NAME],
            treatment="none",
            marker=known.marker,
            task_type="",
            is_typed=task_type is not None,
            arm="",
            probability=1.0,
            memories=(),
            note_sha256="",
            turn_sha256=latest.sha256 if latest else "",
            turns=0,
        )
        if memory == "off":
            event = msgspec.structs.replace(event, treatment="off")
        elif first is None and reading.is_new and latest and text:
            treatment: v.Treatment = "holdback" if known.is_held_back else "shadow" if memory == "shadow" else "memory"
            event = self._looked_up(event, frozen, latest, task_type, treatment)
        first = self._sessions.opened(event, text if reading.is_new and len(text) <= _LONGEST_QUESTION else "")
        if memory != "off" and reading.is_new:
            note = self._note(first.marker, first.memories, first.layout)
            near = event.similarities if event.memories == first.memories else ()
            event = msgspec.structs.replace(event, **first._asdict(), similarities=near, note_sha256=note.sha256)
        notes = {} if memory == "off" else self._notes(key, session, reading.turns)
        earlier = len(notes) - (event.treatment == "memory" and reading.is_new)
        kept, cut = _within(text) if self._has_texts and reading.is_new else ("", 0)
        # Of a reply that the client began, the model's words alone are read, which do not name it.
        waiting = event.turn_sha256 if reading.is_new and not reading.is_begun else ""
        return Prepared(msgspec.structs.replace(event, turns=earlier, question=kept, question_cut=cut), notes, waiting)

    def _named(self) -> str:
        return f"{INFERENCE}{self.process}-{next(self._numbers)}"

    def session_of(self, reading: Reading, *, session: str = "", key: str = "", is_retry: bool = False) -> str:
        """Return the session that a client named, or that of the ongoing conversation; "" for a new one."""
        return session or self._sessions.session_of(key, reading, is_retry=is_retry)

    def earlier_notes(self, reading: Reading, *, session: str = "", key: str = "") -> Mapping[int, Note]:
        """Return the notes of turns before the new one, which are on record and in the upstream's cache."""
        session = self.session_of(reading, session=session, key=key)
        return self._notes(key, session, reading.turns[:-1] if reading.is_new else reading.turns)

    def notes_for(
        self,
        reading: Reading,
        *,
        session: str = "",
        key: str = "",
        memory: Wish = "on",
        task_type: str | None = None,
    ) -> Mapping[int, Note]:
        """Return what would be put into a request, by turn number, and open none. A session's coin falls with its first
        request: before, it counts as one that gets memories. Raises `UsageError` for a task type that the run does not
        have."""
        session = self.session_of(reading, session=session, key=key)
        known, notes = self._sessions.known(key, session), self._notes(key, session, reading.turns)
        if memory == "off":
            return {}
        if memory == "shadow" or not reading.is_new or (known and known.is_held_back):
            return notes
        latest = reading.turns[-1]
        if self._sessions.shown(key, session, [latest]) != [None] or not latest.text.strip():
            return notes
        frozen = self.frozen(known.marker if known else self.marker)
        if task_type is not None:
            frozen.require_task_type(task_type)
        found, form = self._retrieved(frozen, latest, task_type, key=key)
        note = self._note(frozen.state.progress.closed, found.memories, form)
        is_given = note.said and not (found.is_bare or found.is_far)
        return {**notes, len(reading.turns) - 1: note} if is_given else notes

    def submit(self, prepared: Prepared, recording: Recording | None = None) -> Recording:
        """Return an awaitable that is done once what goes into a request is durable; if it fails, the request must be
        sent without it."""

        def settled(done: Future[Sequence[v.Event]]) -> None:
            if done.exception():
                self._sessions.withdrawn(prepared.opened)

        recording = recording or Recording()
        recording.add_done_callback(settled)
        return self.journal.submit([prepared.opened], recording)

    def bypass(self, prepared: Prepared) -> None:
        """Record that a request was sent without the note meant for it."""
        self._sessions.bypassed(prepared.opened)

    def close_inference(self, closed: v.InferenceClosed) -> v.InferenceClosed:
        """Record the outcome of a request soon; return it as it is recorded."""
        reply, cut = _within(closed.reply) if self._has_texts else ("", 0)
        name = closed.reply_id if len(closed.reply_id) <= LONGEST_NAME else ""
        closed = msgspec.structs.replace(closed, reply=reply, reply_cut=cut, reply_id=name)
        if self._sessions.closed(closed):
            self.journal.put(closed)
        return closed

    def record_search(
        self,
        query: str,
        frozen: FrozenRun,
        task_type: str,
        memories: Mapping[str, float],
        *,
        is_typed: bool,
        latency_s: float,
        key: str = "",
    ) -> tuple[v.InferenceOpened, v.InferenceClosed]:
        """Record which memories an agent got for a query, by id, with their cosines. Return the opening and the end of
        that inference, a session of its own. Raises `NotRecorded` if the log accepts nothing more."""
        name = self._named()
        kept, cut = _within(query) if self._has_texts else ("", 0)
        opened = v.InferenceOpened(
            inference=name,
            session=name,
            key=key,
            shape="search",
            model="",
            treatment="searched",
            marker=frozen.state.progress.closed,
            task_type=task_type,
            is_typed=is_typed,
            arm="",
            probability=1.0,
            memories=tuple(memories),
            similarities=tuple(memories.values()),
            note_sha256=note_of(frozen.state, memories, self.layout._replace(form="sections")).sha256,
            turn_sha256="",
            turns=0,
            layout="sections",
            nearest=max(memories.values(), default=-1.0),
            floor=frozen.floor(task_type),
            question=kept,
            question_cut=cut,
        )
        self._sessions.opened(opened)
        self.submit(Prepared(opened, {}, "")).result()
        closed = ReplyUsage().closing(name, "", "answered", latency_s=latency_s, overhead_s=latency_s)
        return opened, self.close_inference(closed)

    # ------------------------------------------------------------ learning

    def submit_feedback(self, said: Feedback, *, key: str = "", trust: v.Trust = "full") -> Recording:
        """Record what a key says about an inference or session of its own; once durable, it is the recording's first
        event.

        Raises:
            UsageError: The value is invalid, a text is too long, or the server takes no feedback.
            NotFound: The key has no such inference or session.
            Conflict: It said something else under the same idempotency key; raised by the recording.
            NotRecorded: The log accepts nothing more; raised by the recording.
        """
        if self.learn == "off":
            raise UsageError("This server takes no feedback: it was started with --learn off.")
        command = self._understood(said, key, trust if self.learn == "propose" else "none")

        def decided() -> Sequence[v.Draft]:
            # Looked up under the lock, so that of two at once with the same idempotency key, one comes first.
            event = feedback_event(said, key=key, session=command.session)
            known = self.log.recorded(draft_of(event).coordinates)
            earlier = known.event if known and isinstance(known.event, v.FeedbackGiven) else None
            setting, state = self.world.setting, self.state
            found = give_feedback(setting, state, command._replace(earlier=earlier))
            return unused_if_refused(decide(setting, state, RecordFacts(found)))

        return self.journal.submit(decided)

    async def give_feedback(self, said: Feedback, *, key: str = "", trust: v.Trust = "full") -> v.FeedbackGiven:
        """Record what a key says; durable when this returns. Raises what `submit_feedback` raises."""
        recording = await asyncio.to_thread(self.submit_feedback, said, key=key, trust=trust)
        event = (await asyncio.wrap_future(recording))[0]
        assert isinstance(event, v.FeedbackGiven)
        return event

    def _understood(self, said: Feedback, key: str, trust: v.Trust) -> GiveFeedback:
        """Return feedback with everything known about its subject."""
        event = feedback_event(said, key=key, session=said.session_id)
        command = GiveFeedback(said, key, trust, self._session_of(said, key))
        if event.kind != "demonstration":
            return command
        about = self._sessions.inference(key, said.inference_id) or self._recorded(said.inference_id).opened
        # Half of a question is a different one, and what an agent searched for need not be its question.
        if about.question_cut or about.shape == "search":
            about = msgspec.structs.replace(about, question="", question_cut=0)
        if not (question := question_in(event.text, about.question)).strip():
            return command
        frozen = self.frozen(self.marker)
        task_type = about.task_type or frozen.task_type_of(question_of(question))
        extracted = extract_of(self.world.benchmark)(said.value) if isinstance(said.value, str) else ""
        vector = self.world.embedder.encode([question])[0]
        return command._replace(question=about.question, vector=vector, task_type=task_type, extracted=extracted)

    def _session_of(self, said: Feedback, key: str) -> str:
        """Return the session that a key refers to. Raises `NotFound` for one that is not its own."""
        if not (name := said.inference_id):
            known = self._sessions.session_by("session", key, said.session_id)
            if known or self._has_session(key, said.session_id):
                return said.session_id
        elif known := self._sessions.session_by("inference", key, name):
            return known
        else:
            with suppress(NotFound):
                if (opened := self._recorded(name).opened).key == key:
                    return opened.session
        raise not_found(said)

    async def curate(self, name: str, *, action: Curation, reason: str, by: str) -> None:
        """Take a memory out of use or bring it back, for every new turn from now on, whichever marker its session sees;
        or review a proposal. Raises `NotFound` for an unknown one, `UsageError` for one whose status does not allow it,
        and `NotRecorded`."""
        reader = LogReader(self.run.log_path)

        def decided() -> Sequence[v.Draft]:
            require_learned(self.run.id, reader, self.state, name)
            [command] = curations(reader, self.state, [(name, reason)], action=action, by=by)
            if action == "approve" and by in _proposers(reader, command.memory_id):
                raise UsageError(
                    f"The key {by} proposed it itself: another key that curates, or a person, must approve it."
                )
            return decide(self.world.setting, self.state, command)

        def curated() -> None:
            with self._keeping:
                self.journal.submit(decided).result()
            if action in ("quarantine", "release"):  # a proposal under review is in no marker
                self._states.renew()

        await asyncio.to_thread(curated)  # to its end, even if the client hangs up

    def publish(self, models: Models, runtime: Runtime) -> list[Published]:
        """Publish what is new, and let later sessions see it. Call it on a separate thread.

        Raises what `publish_all` raises.
        """
        served = ServedRun(self.run, self.log, self.world, self.state)
        try:
            return asyncio.run(publish_beside(served, self.lock, self._keeping, models, runtime))
        finally:
            self._embedder.listen()
            self.advance()

    # ------------------------------------------------------------ looking

    def inference(self, name: str, *, key: str = "") -> InferenceReport:
        """Explain an inference of a key's own from the log. Raises `NotFound`."""
        found = self._recorded(name)
        if found.opened.key != key:
            raise not_recorded(self.run.id, name)
        state = self.frozen(found.opened.marker).state
        return explained(self.run.id, state, found, preface=self.layout.preface)

    def _recorded(self, name: str) -> Recorded:
        with self._reading:  # a single reader, which has already compared the hashes of the segments that it read
            self._reader.refresh()
            return recorded(self._reader, name)

    def _has_session(self, key: str, session: str) -> bool:
        with self._reading:
            self._reader.refresh()
            return has_session(self._reader, key, session)

    def row(self, memory_id: str) -> MemoryRow:
        """Return a memory that new sessions are shown."""
        return self.frozen(self.marker).state.memory.row(memory_id)

    def memory(self, memory_id: str, *, curates: bool = True) -> MemoryReport:
        """Return a memory in its current state. Raises `NotFound` for an unknown memory and, unless the key `curates`,
        for one that is given to no model; `UsageError` for digits with which several begin."""
        with self.lock:
            found, until = item_of(self.state, memory_id), self.state.seq
            name = found[0].memory_id
            # It must be in use at the marker, too: what is being published may still be refused.
            statuses = (
                status_of(self.state, name),
                status_of(self.frozen(self.marker).state, name) or OUT_OF_USE[0],
            )
            if not curates and any(each in OUT_OF_USE for each in statuses):
                raise NotFound(f"{self.run.id} has no memory {memory_id!r:.80} that this key may read.")
        marker, reader = str(Marker("iteration", self.marker)), LogReader(self.run.log_path)
        return reported(self.run.id, marker, reader, *found, until=until)

    @property
    def health(self) -> Health:
        marker = self.frozen(self.marker).marker
        counted = self.journal.queued, self._looked, self._far
        return Health(self.run.id, marker, self.journal.problem, *counted, self.unpublished)

    def advance(self) -> None:
        """Let new sessions see the last closed iteration."""
        closed = self.state.progress.closed
        with suppress(MageError):  # without an embedder no question can be looked up anyway
            self.frozen(closed).warm()
        self.marker = closed

    async def aclose(self) -> None:
        """Record what is still waiting, sign the head if there is a key, and close the log."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        self.journal.close()
        with self.lock:
            try:
                if not self.journal.problem:
                    self._sign()
            finally:
                self._signer = None  # a second close does not sign again
                self.log.close()

    def _sign(self) -> None:
        if self._signer is None:
            return
        with self.lock:
            appended = self.log.append([naming(self._signer)])
            for seq, event in zip(appended.seqs, appended.events, strict=True):
                if seq > self.state.seq:  # named for the first time
                    self.state.apply(event)
                    self.state.seq = seq
            sign_head(self.log, self.run.log_path, self._signer)

    def _looked_up(
        self, event: v.InferenceOpened, frozen: FrozenRun, latest: Turn, task_type: str | None, treatment: v.Treatment
    ) -> v.InferenceOpened:
        """Return an inference with what its marker has for its latest turn."""
        draw = event.inference if self.learn == "propose" else ""
        found, form = self._retrieved(frozen, latest, task_type, key=event.key, draw=draw)
        with self._counting:
            self._looked, self._far = self._looked + (found.read_to > 0), self._far + found.is_far
        note = self._note(event.marker, found.memories, form)
        near = dict(zip(found.memories, found.similarities, strict=True))
        return msgspec.structs.replace(
            event,
            treatment="bare" if found.is_bare else "far" if found.is_far else treatment if note.said else "none",
            task_type=found.task_type,
            arm=found.arm,
            probability=found.probability,
            memories=note.memories,
            similarities=tuple(near[name] for name in note.memories),
            note_sha256=note.sha256,
            layout=form,
            nearest=found.nearest,
            floor=found.floor,
            read_from=found.read_from,
            read_to=found.read_to,
        )

    def _retrieved(
        self, frozen: FrozenRun, latest: Turn, task_type: str | None, *, key: str, draw: str = ""
    ) -> tuple[TurnMemories, v.ServedLayout]:
        """Return what a marker has for a turn, and how it is laid out."""
        text, layout = latest.text.strip(), frozen.layout_before(is_first=latest.is_first)
        if len(text) > _LONGEST_QUESTION:  # the question usually comes before or after the text that it is about
            text = f"{text[: _LONGEST_QUESTION // 2]}\n{text[-_LONGEST_QUESTION // 2 :]}"
        shared = self._habits.shared(key, text)
        return frozen.retrieved(text, task_type, layout=layout, draw=draw, shared=shared, client=key), layout.form

    def _notes(self, key: str, session: str, turns: Sequence[Turn]) -> dict[int, Note]:
        """Return the notes of all turns that have one, by turn number, with the same bytes as before."""
        return {
            place: self._note(first.marker, first.memories, first.layout)
            for place, first in enumerate(self._sessions.shown(key, session, turns))
            if first is not None and first.treatment == "memory"
        }

    def _rendered(self, marker: int, memories: tuple[str, ...], form: v.ServedLayout) -> Note:
        return note_of(self.frozen(marker).state, memories, self.layout._replace(form=form)) if memories else NOTHING


def _proposers(reader: LogReader, memory_id: str) -> set[str]:
    """Return the names of the keys that proposed a memory."""
    return {event.key for event in reader.of(v.MemoryProposed) if event.memory_id == memory_id}


def _within(text: str) -> tuple[str, int]:
    """Return the part of a text that is recorded, and how many characters are left out."""
    return text[:LONGEST_TEXT], max(0, len(text) - LONGEST_TEXT)
