"""Between a session and its observer: progress, the score so far and announcements go out, a stop comes in."""

from collections.abc import Iterable

from mage_es.engine.rules.snapshot import measured_so_far
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import ACCURACY, ProgressNote, RunningScore, Runtime, measure_of
from mage_es.engine.run.world import World
from mage_es.engine.seams.environment import is_sequential
from mage_es.events.errors import Interrupted
from mage_es.events.vocabulary import AnswerJudged, AnswerUnanswered, Event, Phase
from mage_es.projections.fold import State

_SHOWN, _LONGEST = 3, 100  # answers in a message, and most characters of each


class Reporter:
    """The progress notes of one session, which say what `iteration` and `phase` it is in."""

    def __init__(self, run: Run, world: World, state: State, runtime: Runtime) -> None:
        self._run, self._iterations, self._state = run, world.setting.end, state
        self._observer, self.is_stopped = runtime.observer, runtime.stop
        self._measure = measure_of(are_episodes=is_sequential(world.benchmark))
        self.iteration, self._done, self._total = -1, 0, 0
        self.phase: Phase = "open"
        self._score = RunningScore("open")

    def enter_phase(self, iteration: int, phase: Phase) -> None:
        """Attribute the embedder's calls and all notes to this phase from now on."""
        self.iteration, self.phase, self._done, self._total = iteration, phase, 0, 0

    def begin_score(self, phase: Phase, settled: Iterable[AnswerJudged | AnswerUnanswered]) -> None:
        """Start counting again, from the answers on record: a resumed run reports the score of the whole phase."""
        self._score = RunningScore(phase, settled)

    def observe(self, event: Event) -> None:
        """Count an answer that was just recorded."""
        if isinstance(event, AnswerJudged | AnswerUnanswered):
            self._score.add(event)

    def check_stop(self) -> None:
        """Raise `Interrupted` if the user asked to stop."""
        if self.is_stopped():
            raise Interrupted(f"Stopped. Continue with `mage-es resume {self._run.path}`.")

    def announce(self, words: str) -> None:
        """Send the observer a message that people should see at once."""
        self.report(self.iteration, self.phase, self._done, self._total, words, is_announcement=True)

    def report(
        self, iteration: int, phase: Phase, done: int, total: int, message: str = "", *, is_announcement: bool = False
    ) -> None:
        self.iteration, self.phase, self._done, self._total = iteration, phase, done, total
        score = self._score if self._score.phase == phase else RunningScore(phase)
        level, anchors = score.level(self._measure), score.asked if phase == "snapshot" else 0
        # An anchor that would see the same is not asked, and its verdict holds.
        if phase == "snapshot" and self._measure == ACCURACY and (known := measured_so_far(self._state, iteration)):
            level, anchors = sum(known.values()) / len(known), len(known)
        ledger = self._state.ledger
        self._observer(
            ProgressNote(
                run_id=self._run.id,
                iteration=iteration,
                iterations=self._iterations,
                phase=phase,
                done=done,
                total=total,
                measure=self._measure,
                level=level,
                anchors=anchors,
                revisits=(score.revisits_right, score.revisits),
                execution_calls=ledger.total("execution").calls,
                guidance_calls=ledger.total("guidance").calls,
                message=message,
                is_announcement=is_announcement,
            )
        )


def all_wrong(world: World, state: State) -> str:
    """Return how three replies end, what was read from each and what was expected; "" if one was right."""
    progress, questions = state.progress, world.questions
    verdicts = progress.verdicts("evaluate")
    if len(verdicts) < _SHOWN or any(verdict.correct for verdict in verdicts) or is_sequential(world.benchmark):
        return ""
    lines = []
    for verdict in verdicts[:_SHOWN]:
        name, gold = verdict.question_id, questions[verdict.question_id].gold
        reply = progress.reply("evaluate", name).text if progress.is_replied("evaluate", name) else ""
        end = reply.strip().rpartition("\n")[2][-2 * _LONGEST :]
        lines += [
            f"  {name}: the reply ends {end!r}",
            f"    read as {verdict.answer[:_LONGEST]!r}, expected {gold[:_LONGEST]!r}",
        ]
    return "\n".join(
        (
            f"None of the {len(verdicts)} answers of the first iteration was right. {_SHOWN} of them:",
            *lines,
            "If some of these are right, change the scorer or add an instruction; if the model cannot do the task, try "
            f"another. Prompt and whole reply: mage-es show {verdicts[0].question_id}",
        )
    )
