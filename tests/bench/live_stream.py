"""Does a real model get better from live traffic? Tickets go through `mage-es serve`, and each, once closed, says its
team under a client whose answers are right.

    python -m tests.bench.live_stream --execution 'openai/smollm2?base_url=http://127.0.0.1:8101/v1'

A run learns from some twenty questions and is served beside a publish every minute. The coin keeps memory from a
quarter of the tickets, whose answers show what the model does alone. Nothing waits for a person.
"""

import argparse
import json
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mage_es
from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.world import reopen_world
from mage_es.engine.seams.spec import parse_spec
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from tests.bench.loopback import mage_es as mage_es_served
from tests.bench.tables import print_table

PART = 40
"""How many tickets a row of the table is about."""


def posted(url: str, body: Mapping[str, Any]) -> tuple[Any, Mapping[str, str]]:
    """Return a reply and its headers."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response), {name.lower(): value for name, value in response.headers.items()}


def main() -> None:
    """Serve the stream and print how many tickets were answered rightly, with memories and held back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--execution", required=True)
    parser.add_argument("--set", default="private-limits?difficulty=2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tickets", type=int, default=240)
    parser.add_argument("--runs-dir", type=Path, default=Path(tempfile.mkdtemp()))
    told = parser.parse_args()
    spec = parse_spec(told.execution)
    config = mage_es.Config(
        benchmark=told.set,
        seed=told.seed,
        execution=told.execution,
        iterations=2,
        pool=10,
        anchors=18,
        held_out=60,
        max_tokens=24,
    )
    run = find_run(told.runs_dir, mage_es.evolve(config, runs_dir=told.runs_dir).run_id)
    reader = LogReader(run.log_path)
    world = reopen_world(reader, data_dir=None, frozen=True)
    seen = {*world.setting.anchors, *(event.question_id for event in reader.of(QuestionPlanned))}
    own = PrivateSet(told.set, told.seed)
    tickets = [each for each in own.questions("evolution") if each.id not in seen][: told.tickets]
    options = ("--learn", "propose", "--trust", "gold", "--holdback", "0.25", "--publish-every", "1")
    port = urlsplit(spec.options["base_url"]).port or 80
    answers, began = list[tuple[str, bool]](), time.monotonic()
    with mage_es_served(run.id, told.runs_dir, port, "--min-similarity", "auto", *options) as served:
        url = f"http://127.0.0.1:{served.port}/v1"
        for number, ticket in enumerate(tickets):
            said = [{"role": "user", "content": ticket.question}]
            body = {"model": spec.model, "messages": said, "temperature": 0, "max_tokens": config.max_tokens}
            reply, headers = posted(f"{url}/chat/completions", body)
            right = own.score(ticket, reply["choices"][0]["message"]["content"]).correct
            answers.append((headers["x-mage-memories"], right))
            if about := headers.get("x-mage-inference"):
                team = {"answer": ticket.gold, "question": ticket.question}
                for metric, value in (("right", right), ("team", team)):
                    word = {"inference_id": about, "metric": metric, "idempotency_key": f"{metric}-{number}"}
                    posted(f"{url}/feedback", {**word, "value": value})
    rows = []
    for first in range(0, len(answers), PART):
        part = answers[first : first + PART]
        sides = ([right for why, right in part if (why == "holdback") == side] for side in (False, True))
        rows.append((f"{first + 1} to {first + len(part)}", *(f"{sum(each)} of {len(each)}" for each in sides)))
    print_table(
        f"{told.set}, seed {told.seed}, {spec.model}, {time.monotonic() - began:.0f} s",
        ("tickets", "with memory", "held back"),
        rows,
    )
    print(f"Not in time for memories: {sum(why == 'bypassed' for why, _ in answers)}. Run: {told.runs_dir}")


if __name__ == "__main__":
    main()
