"""Whose questions get memories: a run's own held-out ones, those of other runs, and what people ask otherwise.

    python -m tests.bench.relevance --runs-dir runs/nine --data-dir data gsm8k hotpotqa medqa webqa
    python -m tests.bench.relevance --runs-dir runs wordmath-s42-001          after `mage-es demo`

The floor is the run's own (engine/rules/notes.py): about 95 of 100 of its own questions are to get some.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import mage_es
from mage_es.engine.serving.frozen import FrozenRun
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
MOST = 200


def main() -> None:
    """Print for each run the share of each run's questions that get memories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    parser.add_argument("--data-dir", type=Path, default=None)
    options = parser.parse_args()
    opened = {name: mage_es.open_run(options.runs_dir / name, data_dir=options.data_dir) for name in options.runs}
    texts = {name: held_out(run) for name, run in opened.items()}
    columns = ("run", "memories", "floors", "measured in, ms", "own", *(f"of {name}" for name in texts), "otherwise")
    rows = []
    for name, run in opened.items():
        began = time.process_time()
        floors = [run.floor(each) for each in sorted(run.task_types)]
        took = 1000 * (time.process_time() - began)
        shares = ["" if other == name else given(run, questions) for other, questions in texts.items()]
        spread = f"{min(floors):.2f} to {max(floors):.2f}"
        memories = f"{len(list(run.state.memory.rows())):,}"
        rows.append(
            (name, memories, spread, f"{took:.0f}", given(run, texts[name]), *shares, given(run, ASKED_OTHERWISE))
        )
    print_table("Questions that get memories", columns, rows)


def held_out(run: FrozenRun) -> list[str]:
    return [run.world.questions[name].question for name in run.world.setting.held_out][:MOST]


def given(run: FrozenRun, questions: list[str] | tuple[str, ...]) -> str:
    """Return the share of questions to which some memory is near enough."""
    near = sum(not run.recalled(question).is_far for question in questions)
    return f"{near} of {len(questions)}"


if __name__ == "__main__":
    main()
