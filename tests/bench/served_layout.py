"""What the layout of a served request is worth: private labels through the proxy, in front of a real model's server.

`python -m tests.bench.served_layout URL MODEL` learns cases from a learner that knows nothing (so every question is one
with its right answer, and no call is made), serves them in each layout, and asks the same held-out questions without
memories, with notes and with turns, as a client would: its own system message, the bare ticket, free text back.
"""

import argparse
import json
import tempfile
import urllib.request
from collections import Counter
from pathlib import Path

import mage_es
from mage_es.engine.players.worlds.private.benchmark import PrivateSet
from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.run.directory import find_run
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.live import LiveRun
from tests.engine.serving.behind import serving
from tests.kit.models import Saying

LAYOUTS = ("sections", "turns")


def asked(address: str, model: str, system: str, question: str, memory: str) -> tuple[str, int]:
    """Return the reply and the prompt's tokens."""
    said = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    body = {"model": model, "messages": said, "temperature": 0, "max_tokens": 24}
    headers = {"content-type": "application/json", "x-mage-memory": memory}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        found = json.load(response)
    return found["choices"][0]["message"]["content"], found["usage"]["prompt_tokens"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--set", default="private-labels?difficulty=1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--learn", type=int, default=120)
    parser.add_argument("--questions", type=int, default=40)
    told = parser.parse_args()
    own = PrivateSet(told.set, told.seed)
    labels = sorted({question.gold for question in own.questions("evolution")})
    system = f"Say which team takes the ticket: {', '.join(labels)}. Reply with the team's name alone."
    right, tokens = {way: list[bool]() for way in ("nothing", *LAYOUTS)}, Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = mage_es.Config(
            benchmark=told.set,
            seed=told.seed,
            iterations=told.learn // 40,
            pool=40,
            held_out=told.questions,
            anchors=0,
            guard="off",
            gate="off",
        )
        models = mage_es.Models(
            execution=Saying("bench/knows-nothing", "I cannot say."),
            guidance=mage_es.open_model("builtin/reference", "guidance"),
        )
        run = find_run(folder, mage_es.evolve(config, models=models, runs_dir=folder).run_id)
        lives = {
            layout: LiveRun.open(run, name=layout, holdback=0, bounds=NoteBounds(0.0, layout=layout))
            for layout in LAYOUTS
        }
        questions = [lives["turns"].world.questions[each] for each in lives["turns"].world.setting.held_out]
        for layout, live in lives.items():
            with serving({layout: live}, told.url, retrieval_s=30) as address:
                for way, memory in (("nothing", "off"), (layout, "on")) if layout == "turns" else ((layout, "on"),):
                    for question in questions:
                        reply, count = asked(address, told.model, system, question.question, memory)
                        right[way].append(own.score(question, reply).correct)
                        tokens[way] += count
                        print(way, len(right[way]), sum(right[way]), flush=True)
    print("| layout | right | asked | prompt tokens a question | against sections |")
    for way, found in right.items():
        pairs = list(zip(found, right["sections"], strict=True))
        won, lost = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
        p = sign_test(won, won + lost) if won + lost else 1.0
        print(f"| {way} | {sum(found)} | {len(found)} | {tokens[way] / len(found):.0f} | +{won} -{lost}, p {p:.3f} |")


if __name__ == "__main__":
    main()
