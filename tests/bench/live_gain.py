"""The live gain against the truth, and what one key can spoil: truthworld behind a served run.

    python -m tests.bench.live_gain                          100 draws of traffic over four worlds, on one core
    python -m tests.bench.live_gain --draws 8 --worlds 1     a quick look

The embedded model of truthworld answers each question of a session, with the note where the coin lets it. For every
question it is asked both ways, so the true gain of the sessions of a draw is known, and is what the interval must hold.
Then two keys share a run: one teaches what is true, the other, with a fifth of the sessions, what is false, and says
`wrong` of each right answer and `right` of each wrong one, or nothing at all in the same sessions. Accuracy is over
questions that no one asked.
"""

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from mage_es.engine.config import Config
from mage_es.engine.models.registry import open_models
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import BETWEEN_TURNS, Request
from mage_es.engine.served.notes import NOTHING, Note, NoteBounds
from mage_es.engine.serving.live import LiveRun, Prepared
from mage_es.engine.serving.publish import Published
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.serving.rules.sittings import visits
from mage_es.engine.serving.shapes import Reading, Turn
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.worth.live_gain import Difference, compare_sides
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted
from tests.bench.tables import print_table
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.claims import account
from tests.kit.truthworld.learner import reply
from tests.kit.truthworld.puzzles import read_puzzle

HOLDBACK, SAYS, EVIL = 0.25, 0.7, 0.2


class Draw(NamedTuple):
    """One draw of traffic: the true gain of its sessions, and what their log says of it."""

    truth: float
    found: Difference

    @property
    def is_covered(self) -> bool:
        low, high = self.found.low, self.found.high
        return low is not None and high is not None and low <= self.truth <= high


def main() -> None:
    """Run the draws and the planting, and print what came of them."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--draws", 100), ("--worlds", 4), ("--sessions", 200), ("--plantings", 5)):
        options.add_argument(name, type=int, default=default)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parents = [taught(Path(folder), seed) for seed in range(1, given.worlds + 1)]
        each = -(-given.draws // given.worlds)
        print_draws([draw for parent in parents for draw in drawn(parent, each, given.sessions)])
        print_planting([[planted(parent, given.sessions, n) for n in range(given.plantings)] for parent in parents])


def taught(folder: Path, seed: int, *, iterations: int = 3, pool: int = 60) -> Run:
    """Return a run that learned a world."""
    config = Config(
        benchmark="truthworld",
        teacher_sees="solutions",
        seed=seed,
        iterations=iterations,
        pool=pool,
        held_out=60,
        anchors=60,
    )
    evolve(config, runs_dir=folder, data_dir=None, runtime=Runtime(), run_id=f"world-{seed}")
    return find_run(folder, f"world-{seed}")


def drawn(parent: Run, draws: int, sessions: int) -> list[Draw]:
    """Serve draws of sessions of one to three questions, of which most give feedback, and compare with the truth.

    All of a world are in one log, which is taken apart by the names of their sessions.
    """
    traffic = Traffic(parent, holdback=HOLDBACK)
    try:
        truths = [fmean(asyncio.run(traffic.sessions(sessions, name=f"{number}/"))) for number in range(draws)]
        traffic.live.close()
        reader = LogReader(traffic.live.run.log_path)
        opened, words = list(reader.of(InferenceOpened)), list(reader.of(FeedbackGiven))
        started, closed = list(reader.of(ServingStarted)), list(reader.of(InferenceClosed))
        found = []
        for number, truth in enumerate(truths):
            own = [one for one in opened if one.session.startswith(f"{number}/")]
            said = [word for word in words if word.session.startswith(f"{number}/")]
            pairs = ((each.is_held_back, each.scores.get("right")) for each in visits(started, own, closed, said))
            found.append(Draw(truth, compare_sides(pairs)))
        return found
    finally:
        shutil.rmtree(traffic.live.run.path)


class Planting(NamedTuple):
    """Accuracy with memory of a world before any feedback, after honest feedback alone, and after both keys'."""

    before: float
    honest: float
    both: float
    verdicts: Sequence[Published]

    @property
    def loss(self) -> float:
        """Share of the accuracy that planting costs."""
        return 1 - self.both / self.honest


def planted(parent: Run, sessions: int, number: int) -> Planting:
    """Publish what an honest key says of a draw of sessions, with and without what another plants in its own."""
    accuracies, verdicts, before = [], list[Published](), 0.0
    for evil_says in (False, True):
        traffic = Traffic(parent, holdback=0, draw=number)
        try:
            before = traffic.accuracy()
            asyncio.run(traffic.sessions(sessions, evil=EVIL, evil_says=evil_says, teaches=True))
            models = open_models(traffic.live.world.setting.config, has_guidance=False)
            verdicts = traffic.live.publish(models, Runtime())
            accuracies.append(traffic.accuracy())
            traffic.live.close()
        finally:
            shutil.rmtree(traffic.live.run.path)
    return Planting(before, *accuracies, verdicts)


class Traffic:
    """A served run of truthworld, and clients who know what is right."""

    def __init__(self, parent: Run, *, holdback: float, draw: int = 0) -> None:
        self.live = LiveRun.open(parent, learn="propose", holdback=holdback, bounds=NoteBounds(min_similarity=0))
        self.random = Random(f"{parent.id}/{draw}")
        benchmark = self.live.world.benchmark
        assert isinstance(benchmark, TruthWorld)
        self.benchmark = benchmark
        asked = list(benchmark.questions("test"))
        held_out = {self.live.world.questions[name].question for name in self.live.world.setting.held_out}
        self.questions = [question for question in asked if question.question not in held_out]
        # The last are asked by no one: on them accuracy is measured.
        self.questions, self.unseen = self.questions[:-200], self.questions[-200:]

    async def sessions(
        self, count: int, *, name: str = "", evil: float = 0.0, evil_says: bool = True, teaches: bool = False
    ) -> list[float]:
        """Serve sessions; return the true gain of each."""
        by_type: dict[str, list[Question]] = {}
        for question in self.questions:
            by_type.setdefault(question.task_type, []).append(question)
        going = []
        for number in range(count):
            kind = self.random.choice(sorted(by_type))
            chosen = self.random.choices(by_type[kind], k=self.random.randint(1, 3))
            key = "evil" if self.random.random() < evil else "honest"
            says = (teaches or self.random.random() < SAYS) and (evil_says or key != "evil")
            going.append(self.session(f"{name}{number}", key, chosen, says=says, teaches=teaches))
        return list(await asyncio.gather(*going))

    async def session(self, name: str, key: str, chosen: Sequence[Question], *, says: bool, teaches: bool) -> float:
        """Serve the questions of one session, and give feedback on each where its client gives any."""
        gains = []
        for place, question in enumerate(chosen):
            prepared = self.prepared(question, session=name, key=key)
            await asyncio.wrap_future(self.live.submit(prepared))
            with_it, without = (self.score(question, note) for note in (self.note(prepared), NOTHING))
            gains.append(with_it - without)
            right = bool(with_it if prepared.opened.treatment == "memory" else without)
            self.live.close_inference(answered(prepared.opened.inference))
            if says:
                about = {"inference_id": prepared.opened.inference, "idempotency_key": f"{name}/{place}"}
                score = right != (key == "evil")
                await self.live.give_feedback(Feedback(metric="right", value=score, **about), key=key)
                if teaches and not right and (shown := self.demonstration(question, is_true=key == "honest")):
                    about["idempotency_key"] += "/shown"
                    await self.live.give_feedback(Feedback(metric="shown", value=shown, **about), key=key)
        return fmean(gains)

    def prepared(self, question: Question, *, session: str, key: str = "") -> Prepared:
        turn = Turn(question.question, sha256(f"{session}/{question.id}".encode()).hexdigest())
        reading = Reading("m", is_stream=False, turns=[turn], is_new=True, previous="")
        return self.live.prepare(reading, "chat", session=session, key=key)

    def note(self, prepared: Prepared) -> Note:
        """Return the note of an inference, also where it was held back."""
        opened = prepared.opened
        return self.live._note(opened.marker, opened.memories, opened.layout)

    def score(self, question: Question, note: Note) -> float:
        shown = [f"{said}{BETWEEN_TURNS}" for turn in note.turns for said in turn]
        turns = tuple(accumulate(map(len, shown)))
        asked = Request(prompt=f"{''.join(shown)}{note.text}{question.question}", turns=turns)
        return self.benchmark.score(question, reply(asked)).score

    def demonstration(self, question: Question, *, is_true: bool) -> dict[str, Any] | None:
        """Return how a question is worked out by the true rules, or by the decoys."""
        world = self.benchmark.world
        puzzle = read_puzzle(question.question, world)
        if puzzle is None or puzzle.line:
            return None
        marks = world.marks
        worked = account(puzzle.start, puzzle.marks, lambda m: marks[m].rule if is_true else marks[m].decoy)
        return {"answer": str(worked.result), "reasoning": worked.text}

    def accuracy(self) -> float:
        """Return the accuracy, with memory, on questions that no one asked."""
        marker = self.live.marker
        shown = [
            (question, self.prepared(question, session=f"new-{marker}-{n}")) for n, question in enumerate(self.unseen)
        ]
        return fmean(self.score(question, self.note(prepared)) for question, prepared in shown)


def answered(inference: str) -> InferenceClosed:
    return InferenceClosed(
        inference=inference,
        outcome="answered",
        status=200,
        problem="",
        input_tokens=100,
        cached_tokens=-1,
        output_tokens=10,
        latency_us=1000,
        overhead_us=100,
    )


def print_draws(draws: Sequence[Draw]) -> None:
    """Print how often the interval holds the true gain, and how wide it is."""
    widths = [
        draw.found.high - draw.found.low for draw in draws if draw.found.low is not None and draw.found.high is not None
    ]
    gaps = [draw.found.difference for draw in draws if draw.found.difference is not None]
    with_memory = fmean(draw.found.with_memory for draw in draws)
    held_back = fmean(draw.found.held_back for draw in draws)
    rows = [
        ("draws with an interval", f"{len(widths)} of {len(draws)}"),
        ("the interval holds the true gain", f"{sum(draw.is_covered for draw in draws)} of {len(draws)}"),
        ("true gain, mean over draws", f"{fmean(draw.truth for draw in draws):+.3f}"),
        ("estimated gain, mean over draws", f"{fmean(gaps):+.3f}"),
        ("width of the interval, mean", f"{fmean(widths or [0]):.3f}"),
        ("sessions with a value, mean", f"{with_memory:.0f} and {held_back:.0f} held back"),
    ]
    print_table("The live gain", ("", "found"), rows)


def print_planting(worlds: Sequence[Sequence[Planting]]) -> None:
    """Print accuracy before and after publishing, without and with what is planted: means over the draws of a world."""
    rows = []
    for number, draws in enumerate(worlds, 1):
        means = (fmean(getattr(each, field) for each in draws) for field in ("before", "honest", "both", "loss"))
        refused = sum(one.key == "evil" and one.verdict.endswith("rollback") for each in draws for one in each.verdicts)
        worst = max(each.loss for each in draws)
        rows.append((str(number), *(f"{100 * mean:.1f} %" for mean in means), f"{100 * worst:.1f} %", str(refused)))
    columns = ("world", "before", "honest alone", f"with {EVIL:.0%} planted", "loss", "worst loss", "planting refused")
    print_table(f"Planted feedback, {len(worlds[0])} draws of each world", columns, rows)


if __name__ == "__main__":
    main()
