"""A conversation of ten turns, by way of `mage-es serve` and without it: what a server's prefix cache still has of it.

    python -m tests.vllm.talk                   about two minutes, most of it to start vLLM

The client has a long system prompt and tools and sends its history again with each turn; answers are set, so that all
ways send the same turns. The third way is the habit that this is measured against: memories at the end of the system
prompt, looked up anew for each turn.

*Kept* is which share of the client's own tokens that are cached without memories is cached with them. Where memories go
into user turns, all that earlier ones took is subtracted from the cached tokens, whether cached or not: it errs on the
low side. In the system prompt all cached tokens are counted as the client's own: it errs on the high side.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import mage_es
from mage_es.engine.run.directory import Run
from tests.bench.loopback import mage_es as served_by
from tests.bench.tables import print_table

TURNS = 10
SYSTEM = "You work for a shop that packs boxes. Show what you counted, then give the number alone. " * 40
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"look_up_{number}",
            "description": "Looks up how many of a thing are in stock.",
            "parameters": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
        },
    }
    for number in range(5)
]
ANSWER = "There are six boxes with seven jars in each, and six times seven is 42: she packs 42 jars. " * 4
Rewrite = Callable[[dict[str, Any]], dict[str, Any]]


class Turn(NamedTuple):
    """Tokens of a prompt by the server's count, and whether memories were put into it on the way."""

    prompt: int
    cached: int
    has_memories: bool


def talk(url: str, questions: Sequence[str], salt: str, rewrite: Rewrite = lambda body: body) -> list[Turn]:
    """Have a conversation at `url`. `salt` makes its prompts begin as those of no other do."""
    messages = [{"role": "system", "content": f"{salt} {SYSTEM}"}]
    turns = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        body = {"model": "exec", "messages": messages, "tools": TOOLS, "tool_choice": "none", "max_tokens": 1}
        request = Request(f"{url}/v1/chat/completions", json.dumps(rewrite(body)).encode(), method="POST")
        request.add_header("content-type", "application/json")
        request.add_header("x-session-id", salt)  # the answers given back are not the model's own
        with urlopen(request, timeout=300) as reply:
            usage = json.load(reply)["usage"]
            has_memories = bool(re.fullmatch(r"[0-9a-f,]{8,}", reply.headers.get("X-Mage-Memories", "")))
        cached = (usage["prompt_tokens_details"] or {}).get("cached_tokens") or 0
        turns.append(Turn(usage["prompt_tokens"], cached, has_memories))
        messages.append({"role": "assistant", "content": ANSWER})
    return turns


def kept(turns: Sequence[Turn], without: Sequence[Turn], *, in_turns: bool) -> float:
    """Return the share that is kept over all turns but the first, which no cache can have."""
    own = 0
    for number in range(1, len(turns)):
        put_in = turns[number - 1].prompt - without[number - 1].prompt if in_turns else 0
        own += turns[number].cached - put_in
    return own / sum(turn.cached for turn in without[1:])


def in_the_system_prompt(run: Run) -> Rewrite:
    """Return what a proxy does that puts memories into the system prompt, those of the latest question each time."""
    frozen = mage_es.open_run(run, min_similarity=0)

    def rewrite(body: dict[str, Any]) -> dict[str, Any]:
        system, *rest = body["messages"]
        said = frozen.bundle(rest[-1]["content"]).messages[-1]["content"]
        return {**body, "messages": [{**system, "content": f"{system['content']}\n\n{said}"}, *rest]}

    return rewrite


def through_mage_es(run: Run, upstream: int, questions: Sequence[str], salt: str) -> list[Turn]:
    """Have a conversation by way of `mage-es serve`, before the server at a port."""
    with served_by(run.id, run.path.parent, upstream) as ours:
        return talk(f"http://127.0.0.1:{ours.port}", questions, salt)


def learned(folder: Path) -> tuple[Run, list[str]]:
    """Return a run of the stand-ins on word problems, and ten questions that it holds out."""
    config = mage_es.Config(benchmark="wordmath", iterations=2, pool=60, held_out=TURNS, anchors=4, gate="off")
    report = mage_es.evolve(config, runs_dir=folder)
    run = Run(report.run_id, folder / report.run_id)
    world = mage_es.open_run(run).world
    return run, [world.questions[name].question for name in world.setting.held_out[:TURNS]]


def main() -> None:
    from tests.vllm.checkpoint import make_checkpoint
    from tests.vllm.test_vllm import Server

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Server(make_checkpoint(folder / "tiny"), folder / "log")
        server.start()
        try:
            run, questions = learned(folder)
            without = talk(server.url, questions, "A")
            served = through_mage_es(run, server.port, questions, "B")
            naive = talk(server.url, questions, "C", in_the_system_prompt(run))
        finally:
            server.stop()
    rows = [
        (str(turn + 1), *(f"{each[turn].cached:,} of {each[turn].prompt:,}" for each in (without, served, naive)))
        for turn in range(TURNS)
    ]
    ways = ("without", "mage-es serve", "memories in the system prompt")
    print_table("Tokens of the prompt that vLLM had in its cache", ("turn", *ways), rows)
    shares = {"mage-es serve": kept(served, without, in_turns=True), ways[2]: kept(naive, without, in_turns=False)}
    header = ("cached tokens of the client's own", "kept")
    print_table("", header, [(way, f"{share:.1%}") for way, share in shares.items()])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
