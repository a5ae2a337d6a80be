"""Long, hostile streams: is an answer with memory ever worse than one without, and how fast is a change learned?

    export OPENBLAS_NUM_THREADS=1                                   several threads are slower here
    python -m tests.bench.hostile                                   five seeds of each stream: half an hour on one core
    python -m tests.bench.hostile --streams changed --seeds 1       a quick look
    python -m tests.bench.hostile --streams poisoned --nameless     no task says whose it is: nothing protects
    python -m tests.bench.hostile --streams poisoned --seeds 1 --execution 'openai/NAME?base_url=http://127.0.0.1:8101/v1'

A stream is 1,000 tickets of a rule that no model can know (`private-labels`, difficulty 2), in 20 days of 50. Each
ticket is asked twice on the state of the evening before: as `ask` asks it, gate and all, and bare. Then the day's
tickets are learned from, as `mage-es evolve --from YESTERDAY --tasks TODAY` does, with the answers that clients gave:

    wrong      one answer in ten is another team, drawn by lot
    changed    and from ticket 500 on every product belongs to the next team
    poisoned   and a client, with a fifth of the tickets, always gives the team two further down
    league     as `poisoned`, but under two names with a tenth of the tickets each
    cascade    as `poisoned`; before ticket 750 all that came of this client is quarantined, and it is heard no more

Each ticket says whose it is: eight clients share what the poisoned one does not have. `ask` does not say who asks.

Without `--execution` the learner gives the answer of the nearest case that it is shown, and alone is right on four
tickets in ten. A prompt
takes up poison if it shows a case from that client; a recalled answer counts as a prompt. The lower bound is that of a
confidence sequence, which holds at all times together (95 %) and whatever changes: Robbins' normal mixture (Howard,
Ramdas, McAuliffe and Sekhon 2021) on the differences of a ticket's two answers.

Whether accuracy is back after a change is said twice. "Back after" is the first day of 50 tickets within 2 points of
the 200 before; such a difference has a standard deviation of 6 points, so that day is early or late by luck. The other
compares the tickets 100 to 200 after the change with these 200: in points, with the p that chance made them worse.
"""

import argparse
import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from math import log, sqrt
from pathlib import Path
from random import Random
from statistics import fmean
from typing import NamedTuple

from mage_es.engine.agents.learner import course_of, plan_answers
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.commands import PlanAnswers
from mage_es.engine.config import Config
from mage_es.engine.courses import Course, Fact, Finish, advance, begin
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.players.prompts import read_question_prompt
from mage_es.engine.players.worlds.private.tickets import LABELS, LabelRule
from mage_es.engine.players.worlds.private.wording import TROUBLES
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.rules.distributions import fisher_exact
from mage_es.engine.run.budget import UNLIMITED, Budget
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import state_of
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import Question, extract_of
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.served.frozen import FrozenRun, freeze, question_of
from mage_es.engine.session.effects import Effects
from mage_es.engine.upkeep.memory import curate_all
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.ledger import Ledger
from tests.bench.tables import print_machine, print_table

DAYS, DAY, CHANGE, CASCADE = 20, 50, 500, 750
LENGTH = 24
"""The most tokens of an answer."""
ALONE, WRONG, EVIL = 0.4, 0.1, 0.2
HONEST = 8
"""How many clients mean well."""
ALPHA, MIXTURE = 0.05, 100
WITHIN = 2.0
"""Points below the accuracy before a change at which it counts as back."""


class Hostility(NamedTuple):
    """What is wrong with a stream."""

    changes: bool = False
    poisoned: float = 0.0
    has_cascade: bool = False
    names: int = 1
    """Under how many names the poisoned client comes."""


STREAMS = {
    "wrong": Hostility(),
    "changed": Hostility(changes=True),
    "poisoned": Hostility(changes=True, poisoned=EVIL),
    "league": Hostility(changes=True, poisoned=EVIL, names=2),
    "cascade": Hostility(changes=True, poisoned=EVIL, has_cascade=True),
}


class Ticket(NamedTuple):
    """A ticket, its right team, the one that its client says, whether that is the poisoned client, and its name."""

    text: str
    right: str
    said: str
    is_evil: bool
    client: str


class Answered(NamedTuple):
    """Whether a ticket was answered rightly with memory and without, and whether the prompt showed a poisoned case."""

    learned: bool
    bare: bool
    is_shown: bool
    took_poison: bool


def tickets(rule: LabelRule, seed: int, kind: Hostility, count: int) -> list[Ticket]:
    """Return the tickets of a stream, each text once."""
    dice, draw, found = Dice(f"hostile/{seed}/asked"), Random(seed), dict[str, Ticket]()
    labels, names = rule.labels, Random(f"{seed}/names")
    while len(found) < count:
        product = dice.pick(rule.products)
        text, place = rule.written(dice, product, dice.below(len(TROUBLES))), labels.index(rule.team[product])
        if text in found:
            continue
        right = labels[(place + (kind.changes and len(found) >= CHANGE)) % len(labels)]
        said, is_evil = right, draw.random() < kind.poisoned
        if is_evil:
            said = labels[(labels.index(right) + 2) % len(labels)]
        elif draw.random() < WRONG:
            said = draw.choice([label for label in labels if label != right])
        client = f"evil-{names.randrange(kind.names)}" if is_evil else f"honest-{names.randrange(HONEST)}"
        found[text] = Ticket(text, right, said, is_evil, client)
    return list(found.values())


class Nearest:
    """A learner that repeats the answer of the nearest case; without one it knows some answers, by the text."""

    name = "scripted/nearest"

    def __init__(self, labels: Sequence[str], right: dict[str, str]) -> None:
        self._labels, self._right = labels, right

    async def complete(self, request: Request) -> Completion:
        return Completion(text=self.reply(request), input_tokens=1, output_tokens=1)

    def reply(self, request: Request) -> str:
        read = read_question_prompt(request)
        said = read.examples[-1].answer if read.examples else self.alone(read.question.strip())
        return f"{read.before}{said}{read.after}"

    def alone(self, text: str) -> str:
        right = self._right[text]
        if _share(f"knows {text}") < ALONE:
            return right
        step = 1 + int(_share(f"slips {text}") * (len(self._labels) - 1))
        return self._labels[(self._labels.index(right) + step) % len(self._labels)]


def _share(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def streamed(folder: Path, seed: int, kind: Hostility, *, is_named: bool = True, execution: str = "") -> list[Answered]:
    """Return the answers of a stream, from the second day on; if it `is_named` each task says whose it is. Without an
    `execution` model the scripted learner answers."""
    rule = LabelRule(Dice(f"hostile/{seed}"), LABELS.level(2))
    *asked, last = tickets(rule, seed, kind, DAYS * DAY + 1)
    scripted = Nearest(rule.labels, {each.text: each.right for each in (*asked, last)})
    learner = open_model(execution, "execution") if execution else scripted
    evil = {each.text for each in asked if each.is_evil}
    test = {"id": "test", "question": last.text, "answer": last.right, "split": "test"}
    models = Models(execution=learner, guidance=open_model("builtin/reference", "guidance"))
    spec = TaskSpec("tickets", "choice", labels=rule.labels)
    config = Config(
        benchmark=spec.name, seed=seed, iterations=1, pool=DAY, held_out=1, max_tokens=LENGTH, failure_memories=False
    )
    run: Run | None = None
    found = list[Answered]()
    for first in range(0, len(asked), DAY):
        today, is_cast_out = asked[first : first + DAY], kind.has_cascade and first >= CASCADE
        if run and is_cast_out and first == CASCADE:
            cast_out(run, evil)
        if run:
            found += asyncio.run(_answers(run, learner, today, evil))
        tasks = [
            {"id": f"ticket-{place}", "question": each.text, "answer": each.said, "split": "evolution"}
            | ({"by": each.client} if is_named else {})
            for place, each in enumerate(today, first)
            if not (is_cast_out and each.is_evil)
        ]
        name = f"day-{first // DAY}"
        evolve(config, tasks=[*tasks, test], models=models, from_run=run, runs_dir=folder, run_id=name)
        run = find_run(folder, name)
    return found


def cast_out(run: Run, evil: set[str]) -> None:
    """Quarantine all that a client's tickets have become."""
    rows = state_of(run, LogReader(run.log_path)).memory.rows()
    names = [row.memory_id for row in rows if row.question in evil and row.status == "active"]
    curate_all(run, [(name, "its client gives wrong answers") for name in names], action="quarantine", by="bench")


async def _answers(run: Run, learner: Model, asked: Sequence[Ticket], evil: set[str]) -> list[Answered]:
    """Answer tickets with a run's state, as `ask` does, and bare."""
    frozen = freeze(run, "latest")
    setting, state, extract = frozen.world.setting, frozen.state, extract_of(frozen.world.benchmark)
    client = RetryingClient(learner, connections=1, spending=Budget(UNLIMITED, Prices(), Ledger()))
    effects = Effects(setting, state, {"execution": client}, Sandbox(), record=lambda command: None)
    found = list[Answered]()
    async with aclosing(client):
        for ticket in asked:
            question = question_of(ticket.text)
            planned = frozen.planned(question)
            shown = [hit.memory_id for hit in planned.memories]
            said = list[str]()
            for plan in (planned, _bare(frozen, question, planned.task_type)):
                said.append(extract(await _reply(effects, course_of(setting, state, plan, question), plan)))
            learned, bare = said
            took_poison = any(state.memory.row(name).question in evil for name in shown)
            found.append(Answered(learned == ticket.right, bare == ticket.right, bool(shown), took_poison))
    return found


def _bare(frozen: FrozenRun, question: Question, task_type: str) -> QuestionPlanned:
    world, state = frozen.world, frozen.state
    asked = world.asked(state, [question], [task_type], ["ask"], world.embedder.encode([question.question]))
    command = PlanAnswers(state.progress.closed, "exam", asked, frozen=True, is_bare=True)
    planned = plan_answers(world.setting, state, command)[0].event
    assert isinstance(planned, QuestionPlanned)
    return planned


async def _reply(effects: Effects, course: Course, planned: QuestionPlanned) -> str:
    move = begin(course)
    while not isinstance(move, Finish):
        fact = (await effects.perform("exam", planned, move, 0))[0].event
        assert isinstance(fact, Fact)
        move = advance(course, fact)
    return move.reply


def lower_bound(found: Sequence[Answered]) -> float:
    """Return the lower bound, in points, of the mean difference with memory minus without."""
    n = len(found)
    # Differences are within -1 and 1, so 1-sub-Gaussian around means that may change from ticket to ticket.
    width = sqrt((n + MIXTURE) * log((n + MIXTURE) / (MIXTURE * (2 * ALPHA) ** 2))) / n
    return 100 * (fmean(each.learned - each.bare for each in found) - width)


def until_back(found: Sequence[Answered], at: int) -> int | None:
    """Return after how many tickets from `at` on the mean of a day is within WITHIN points of the 200 before, or of
    none if those were worse; None if it never is."""
    begun = at - DAY  # the first day is not asked
    before = 100 * fmean(each.learned for each in found[begun - 200 : begun]) - WITHIN
    for first in range(begun, len(found) - DAY + 1, DAY):
        if 100 * fmean(each.learned for each in found[first : first + DAY]) >= before:
            return first - begun
    return None


def second_hundred(found: Sequence[Answered], at: int) -> tuple[float, float]:
    """Return by how many points the tickets 100 to 200 after `at` are above the 200 before it, and the probability that
    chance makes them so much worse (one-sided exact test of Fisher)."""
    begun = at - DAY  # the first day is not asked
    before, after = found[begun - 200 : begun], found[begun + 100 : begun + 200]
    right, old = (sum(each.learned for each in side) for side in (after, before))
    points = 100 * (right / len(after) - old / len(before))
    return points, fisher_exact(len(after) - right, right, len(before) - old, old, is_one_sided=True)


SINCE = {"wrong": DAY, "changed": CHANGE, "poisoned": CHANGE, "league": CHANGE, "cascade": CASCADE}
"""The ticket from which on a stream is judged."""


def judged(seed: int, found: Sequence[Answered], since: int) -> tuple[str, ...]:
    """Return the row of a seed: what came of its stream since a ticket."""
    after = found[since - DAY :]
    shown = [each for each in after if each.is_shown]
    back = until_back(found, since) if since > DAY else 0
    return (
        str(seed),
        f"{100 * fmean(each.learned - each.bare for each in after):+.1f}",
        f"{lower_bound(after):+.1f}",
        f"{min(lower_bound(found[:n]) for n in range(since, len(found) + 1)):+.1f}",
        _percent([each.took_poison for each in shown]),
        _percent([each.took_poison for each in found if each.is_shown]),
        "never" if back is None else str(back),
        "{:+.1f} (p {:.2g})".format(*second_hundred(found, since)) if since > DAY else "-",
    )


def print_windows(name: str, seeds: Sequence[Sequence[Answered]]) -> None:
    """Print a stream day by day, over all seeds."""
    rows = []
    for first in range(0, len(seeds[0]), DAY):
        window = [each for found in seeds for each in found[first : first + DAY]]
        shown = [each for each in window if each.is_shown]
        shares = (_percent([getattr(each, which) for each in window]) for which in ("learned", "bare", "is_shown"))
        least = min(lower_bound(found[: first + DAY]) for found in seeds)
        rows.append((str(first + DAY), *shares, _percent([each.took_poison for each in shown]), f"{least:+.1f}"))
    columns = ("from ticket", "with memory", "without", "shown something", "of these poisoned", "least lower bound")
    print_table(f"{name}, {len(seeds)} seeds", columns, rows)


def _percent(values: Sequence[bool]) -> str:
    return f"{100 * fmean(values):.1f} %" if values else "-"


def main() -> None:
    """Run the streams and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds; 1 to 33 were seen while building")
    parser.add_argument("--streams", nargs="+", choices=list(STREAMS), default=list(STREAMS))
    parser.add_argument("--nameless", action="store_true", help="tasks do not say who gave their answers")
    parser.add_argument("--execution", default="", help="a language model in place of the scripted learner")
    given = parser.parse_args()
    for name in given.streams:
        seeds = list[Sequence[Answered]]()

        def rows(name: str = name, seeds: list[Sequence[Answered]] = seeds) -> Iterator[tuple[str, ...]]:
            for seed in range(given.first, given.first + given.seeds):
                with tempfile.TemporaryDirectory() as folder:
                    kind, is_named = STREAMS[name], not given.nameless
                    seeds.append(streamed(Path(folder), seed, kind, is_named=is_named, execution=given.execution))
                yield judged(seed, seeds[-1], SINCE[name])

        head = "with minus without"
        columns = ("seed", head, "lower bound", "least lower bound of all so far", "poisoned prompts", "on all days")
        columns = (*columns, "back after", "second hundred minus before")
        print_table(f"{name}, from ticket {SINCE[name]} on", columns, rows())
        print_windows(name, seeds)
    print_machine("python -m tests.bench.hostile", ("numpy",))


if __name__ == "__main__":
    main()
