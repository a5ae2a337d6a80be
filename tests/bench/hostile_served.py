"""A client that poisons through `serve`: what of it a publish takes into use, and into how many prompts that gets.

    export OPENBLAS_NUM_THREADS=1
    python -m tests.bench.hostile_served --seeds 1                   a seed takes some minutes on one core

The tickets and clients of the stream `poisoned` (tests/bench/hostile.py) without a change of the rule. A run learns
from the first OWN tickets, which no client gave, and is served. Each later ticket is a request under its client's key,
which then demonstrates the answer that it says; the answers are published every DAY tickets. A publish takes into use
what passes the guard and two near anchors (serving/rules/trials.py). What else waits for a person: with `--approve` one
approves every proposal unread, whoever made it, as the worst reviewer would.
"""

import argparse
import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.private.tickets import LABELS, LabelRule
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.live import LiveRun, Prepared
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.serving.shapes import Reading, Turn
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryProposed, ProposalSettled
from tests.bench.hostile import DAY, Answered, Hostility, Nearest, Ticket, tickets
from tests.bench.live_gain import answered
from tests.bench.tables import print_machine, print_table

OWN, ASKED, ANCHORS = 200, 400, 60


class Served(NamedTuple):
    """The answers of a served stream; and of the honest clients' proposals and the poisoned one's how many a publish
    took into use, of how many, and how many were held because their client is in doubt."""

    answers: list[Answered]
    honest: tuple[int, int, int]
    evil: tuple[int, int, int]


class Desk:
    """A served run and what answers for it: the nearest case's answer."""

    def __init__(self, folder: Path, seed: int, *, own: int = OWN, asked: int = ASKED, anchors: int = ANCHORS) -> None:
        rule = LabelRule(Dice(f"hostile/{seed}"), LABELS.level(2))
        learned, self.asked = (found := tickets(rule, seed, Hostility(poisoned=0.2), own + asked))[:own], found[own:]
        self.learner = Nearest(rule.labels, {each.text: each.right for each in found})
        self.models = Models(execution=self.learner, guidance=open_model("builtin/reference", "guidance"))
        spec = TaskSpec("tickets", "choice", labels=rule.labels)
        config = Config(
            benchmark=spec.name, seed=seed, iterations=1, pool=own, anchors=anchors, held_out=1, failure_memories=False
        )
        # What the run was given itself was checked by somebody.
        tasks = [{"id": f"own-{n}", "question": one.text, "answer": one.right} for n, one in enumerate(learned)]
        evolve(config, tasks=tasks, models=self.models, runs_dir=folder, run_id="own")
        self.live = LiveRun.open(
            find_run(folder, "own"), learn="propose", holdback=0, bounds=NoteBounds(min_similarity=0)
        )

    @property
    def run(self) -> Run:
        return self.live.run

    def ask(self, ticket: Ticket, number: int) -> Prepared:
        """Send a ticket under its client's key, and let the client demonstrate what it says."""
        name = hashlib.sha256(f"{number}/{ticket.text}".encode()).hexdigest()
        reading = Reading("m", is_stream=False, turns=[Turn(ticket.text, name)], is_new=True, previous="")
        prepared = self.live.prepare(reading, "chat", session=f"ticket-{number}", key=ticket.client)
        self.live.submit(prepared).result()
        self.live.close_inference(answered(prepared.opened.inference))
        about = {"inference_id": prepared.opened.inference, "idempotency_key": str(number)}
        said = Feedback(metric="shown", value={"answer": ticket.said}, **about)
        asyncio.run(self.live.give_feedback(said, key=ticket.client))
        return prepared

    def answer(self, ticket: Ticket, prepared: Prepared) -> Answered:
        opened = prepared.opened
        is_shown = opened.treatment == "memory"
        turns = self.live._note(opened.marker, opened.memories, opened.layout).turns if is_shown else ()
        said = turns[-1][1] if turns else self.learner.alone(ticket.text)
        givers = [self.live.state.memory.row(each).origin.by for each in opened.memories]
        return Answered(
            learned=ticket.right in said,
            bare=self.learner.alone(ticket.text) == ticket.right,
            is_shown=is_shown,
            took_poison=any(each.startswith("evil") for each in givers),
        )


def streamed(folder: Path, seed: int, *, approves: bool) -> Served:
    desk, found = Desk(folder, seed), list[Answered]()
    for first in range(0, len(desk.asked), DAY):
        for number, ticket in enumerate(desk.asked[first : first + DAY], first):
            prepared = desk.ask(ticket, number)
            if not ticket.is_evil:
                found.append(desk.answer(ticket, prepared))
        desk.live.publish(desk.models, Runtime())
        if approves:
            for each in desk.live.state.traffic.proposals("waiting"):
                asyncio.run(desk.live.curate(each.memory_id, action="approve", reason="unread", by="bench"))
            desk.live.publish(desk.models, Runtime())
    desk.live.close()
    reader = LogReader(desk.run.log_path)
    key = {event.memory_id: event.key for event in reader.of(MemoryProposed)}
    last = {event.memory_id: event for event in reader.of(ProposalSettled)}
    held = {event.memory_id for event in reader.of(ProposalSettled) if "in doubt" in event.reason}
    sides = [[name for name, by in key.items() if by.startswith("evil") == side] for side in (False, True)]
    counted = (
        (sum(name in last and last[name].verdict == "published" for name in each), len(each), len(held & {*each}))
        for each in sides
    )
    return Served(found, *counted)


def main() -> None:
    """Run the streams and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--approve", action="store_true", help="a person approves whatever waits")
    given = parser.parse_args()

    def rows() -> Iterator[tuple[str, ...]]:
        for seed in range(given.first, given.first + given.seeds):
            with tempfile.TemporaryDirectory() as folder:
                served = streamed(Path(folder), seed, approves=given.approve)
            shares = (fmean(getattr(each, which) for each in served.answers) for which in ("learned", "bare"))
            shown = [each.took_poison for each in served.answers if each.is_shown]
            sides = (f"{taken} of {all_of_it}, {held} held" for taken, all_of_it, held in (served.honest, served.evil))
            yield (
                str(seed),
                *(f"{100 * share:.1f} %" for share in shares),
                f"{100 * fmean(shown or [0]):.1f} %",
                *sides,
            )

    columns = ("seed", "with memory", "without", "poisoned prompts", "honest proposals in use", "poisoned ones")
    print_table(f"Served, {ASKED} tickets", columns, rows())
    print_machine("python -m tests.bench.hostile_served", ("numpy",))


if __name__ == "__main__":
    main()
