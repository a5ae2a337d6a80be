"""Whose questions get memories: held-out ones of a run, also in other words, those of other runs, and anything else.

    python -m tests.bench.relevance --tickets wordmath-s42-001 --runs-dir runs         after `mage-es demo`
    python -m tests.bench.relevance --runs-dir runs --data-dir data gsm8k medqa webqa

The floor is the run's own (engine/served/floors.py). `before` is the one that was taken until now: what 95 of 100
memories of a type have to the nearest of another question, of the whole text alone. The wrappings here are none of
those that the floor is measured with. `--tickets` evolves a run on tickets of one template, generated, first.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np

import mage_es
from mage_es.engine.served.floors import nearest_of
from mage_es.engine.served.frozen import FrozenRun, question_of
from mage_es.engine.serving.rules.trials import nearest_of_others
from tests.bench.tables import print_table

ASKED_OTHERWISE = (
    "How do I reset my router?",
    "What is the capital of France?",
    "Write a poem about autumn.",
    "hi",
    "Thanks!",
    "Summarise this e-mail for me, please.",
    "Why does my Python script raise a KeyError?",
    "Translate 'good morning' into Spanish.",
    "Can you book a table for two at seven?",
    "What time is it in Tokyo?",
    "My printer says the paper is jammed.",
    "I want my money back: my last order never came.",
    "Which of our customers have not paid yet?",
    "Explain the difference between TCP and UDP.",
    "Make this paragraph sound friendlier.",
    "Who won the match last night?",
)
OTHER_WORDS: Mapping[str, Callable[[str], str]] = {
    "as learned": lambda text: text,
    "thanks": lambda text: f"{text} Thanks!",
    "cheers": lambda text: f"Quick one: {text} Cheers, Tom",
    "in haste": lambda text: f"hey!! {text} pls help asap :)",
    "capitals": lambda text: text.upper(),
    "mail": lambda text: (
        "Subject: question\n\nDear support,\n\nI hope this finds you well. I was wondering about the following:\n\n"
        f"{text}\n\nMany thanks in advance for your help.\nKind regards,\nMaria Schmidt\nAcme Ltd., 12 Long Street\n"
    ),
    "preamble": lambda text: (
        "### Instruction\nYou are the assistant of ACME. Be brief, polite and correct. Do not make anything up. If you "
        f"do not know, say so.\n\n### Input\n{text}\n\n### Response\n"
    ),
    "words lost": lambda text: " ".join(word for place, word in enumerate(text.split()) if place % 5 != 2),
    "JSON": lambda text: f'{{"customer_message": "{text}", "channel": "web", "language": "en"}}',
    "typos": lambda text: " ".join(
        word[:2] + word[3:] if len(word) > 5 and place % 4 == 0 else word for place, word in enumerate(text.split())
    ),
}
MOST = 100
COMPLAINTS = {
    "billing": (
        "was charged twice for order {}",
        "wants invoice {} mended",
        "asks why the card was billed {} euros",
    ),
    "delivery": ("says parcel {} never came", "wants another address for shipment {}", "asks where courier {} is"),
    "repair": ("reports that device {} stays dark", "says the screen of unit {} flickers", "hears machine {} rattle"),
    "account": ("cannot log in as user {}", "wants profile {} deleted", "forgot the password of account {}"),
}


def main() -> None:
    """Print for each run the share of questions that get memories, in all their wordings, and of others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--tickets", action="store_true", help="also a run on generated tickets")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        places = [tickets(Path(folder))] if options.tickets else []
        places += [options.runs_dir / name for name in options.runs]
        opened = {path.name: mage_es.open_run(path, data_dir=options.data_dir) for path in places}
        texts = {name: held_out(run) for name, run in opened.items()}
        ours, before = list[list[str]](), list[list[str]]()
        for name, run in opened.items():
            began = time.process_time()
            floors = [run.floor(each) for each in sorted(run.task_types)]
            took = 1000 * (time.process_time() - began)
            memories = f"{len(list(run.state.memory.rows())):,}"
            ours.append([name, memories, f"{min(floors):.2f} to {max(floors):.2f}", f"{took:.0f}"])
            old = Before(run)
            before.append([name, memories, f"{min(old.floors):.2f} to {max(old.floors):.2f}", ""])
            asked = {words: [put(text) for text in texts[name]] for words, put in OTHER_WORDS.items()}
            asked |= {f"of {other}": questions for other, questions in texts.items() if len(texts) > 1}
            for questions in (*asked.values(), ASKED_OTHERWISE):
                ours[-1].append(share([not run.retrieved(text).is_far for text in questions]))
                before[-1].append(share([old.is_near(text) for text in questions]))
        others = (f"of {name}" for name in texts if len(texts) > 1)
        columns = ("run", "memories", "floors", "in ms", *OTHER_WORDS, *others, "anything")
        print_table("Questions that get memories", columns, ours)
        print_table("Before", columns, before)


class Before:
    """The floors that were taken until now."""

    def __init__(self, run: FrozenRun) -> None:
        self._run, memory = run, run.state.memory
        found = {name: nearest_of_others(memory, name, 256) for name in sorted(run.task_types)}
        enough = {name: each for name, each in found.items() if len(each) >= 20}
        self._floors = {name: max(0.0, float(np.quantile(each, 0.05))) for name, each in enough.items()}
        every = [each for nearest in found.values() for each in nearest]
        self._other = max(0.0, float(np.quantile(every, 0.05))) if len(every) >= 20 else 0.0
        self.floors = [self._floors.get(name, self._other) for name in found]

    def is_near(self, text: str) -> bool:
        task_type = self._run.task_type_of(question_of(text))
        [nearest] = nearest_of(self._run.state.memory, task_type, self._run.world.embedder.encode([text]), [""])
        return nearest >= self._floors.get(task_type, self._other)


def held_out(run: FrozenRun) -> list[str]:
    return [run.world.questions[name].question for name in run.world.setting.held_out][:MOST]


def share(is_near: Sequence[bool]) -> str:
    return f"{sum(is_near)} of {len(is_near)}"


class Desk:
    """A model that knows the teams: every question of the run becomes a case."""

    name = "bench/desk"

    def __init__(self, teams: Mapping[str, str]) -> None:
        self._teams = teams

    async def complete(self, request: mage_es.Request) -> mage_es.Completion:
        team = next((team for text, team in self._teams.items() if text in request.prompt), "billing")
        return mage_es.Completion(text=f"Answer: {team}", input_tokens=1, output_tokens=1)


def tickets(folder: Path) -> Path:
    """Evolve a run on tickets of one template; return its folder."""
    dice, tasks = Random(1), list[dict[str, str]]()
    for number in range(400):
        team = dice.choice(sorted(COMPLAINTS))
        what = dice.choice(COMPLAINTS[team]).format(dice.randint(100, 9999))
        name, city = dice.choice(("Ana", "Ben", "Cem", "Dora", "Eli")), dice.choice(("Lyon", "Graz", "Porto", "Turku"))
        text = f"Ticket {number}: On {dice.choice(('Monday', 'Tuesday', 'Friday'))} {name} from {city} {what}."
        asked = f"{text} Which team of the help desk answers this ticket: {', '.join(sorted(COMPLAINTS))}?"
        tasks.append({"question": asked, "answer": team})
    desk = Desk({task["question"]: task["answer"] for task in tasks})
    models = mage_es.Models(execution=desk, guidance=mage_es.open_model("builtin/reference", "guidance"))
    config = mage_es.Config(benchmark="tickets", iterations=4, pool=40, held_out=MOST, anchors=20, guard="off")
    mage_es.evolve(config, tasks=tasks, scorer="exact", models=models, runs_dir=folder, run_id="tickets")
    return folder / "tickets"


if __name__ == "__main__":
    main()
