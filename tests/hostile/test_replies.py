"""Models that reply whatever fits the form, or nothing that does: each failure is a verdict, and the run goes on."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from tests.hostile.attacks import INJECTIONS, TERMINAL

WORDS = [
    *("", "\ud800", "\x00", "[" * 1000, '{"n": ' + "[" * 2000, '{"n": 1e999}', '{"n": 1}', '{"n": ' + "9" * 400 + "}"),
    *("n", "9" * 5000, "x" * 9000, "a/b", "..", "general", "def run(n):\n  return " + "(" * 3000 + "n"),
    *("def run(n):\n  return n", "İ", "{question}", *INJECTIONS.values(), *TERMINAL.values()),
]
NUMBERS = [0, 1, -1, 2, 0.5, 1e308, 2**53, 2**63, 10**30, -(2**63), 1e-320]


class Whatever:
    """A model that often replies with random words and numbers, in the form that is asked for where there is one."""

    def __init__(self, own: str, tier: Any, seed: int) -> None:
        self.name, self._own, self._random = f"scripted/{tier}", open_model(own, tier), random.Random(seed)

    async def complete(self, request: Request) -> Completion:
        dice, sensible = self._random, await self._own.complete(request)
        if dice.random() < 0.3:
            return sensible
        text = f"{sensible.text * dice.randrange(2)}{dice.choice(WORDS)}\n#### {dice.choice(WORDS)}"
        if request.reply_schema:
            schema = msgspec.json.decode(request.reply_schema)
            known = [*_texts(json.loads(request.prompt.split("\n")[1])), "n"]
            text = json.dumps(self._value(schema, schema["$defs"], known))[: 10**6 if dice.random() < 0.9 else 40]
        counts = {name: dice.choice([0, 9, 2**63]) for name in ("input_tokens", "output_tokens", "cached_tokens")}
        stop = dice.choice(["end", "end", "end", "length", "refused", "\ud800" * 1000])
        return Completion(text=text, stop_reason=stop, provider_id=dice.choice(WORDS), **counts)

    def _value(self, schema: dict[str, Any], forms: dict[str, Any], known: list[str]) -> Any:
        dice = self._random
        match schema:
            case {"$ref": str(place)}:
                return self._value(forms[place.rpartition("/")[2]], forms, known)
            case {"anyOf": list(choices)} | {"enum": list(choices)}:
                chosen = dice.choice(choices)
                return self._value(chosen, forms, known) if "anyOf" in schema else chosen
            case {"properties": dict(fields)}:
                return {
                    name: self._value(field, forms, known) for name, field in fields.items() if dice.random() < 0.98
                }
            case {"items": dict(item)}:
                return [self._value(item, forms, known) for _ in range(dice.choice([0, 1, 1, 2, 3, 20]))]
        return {"string": dice.choice(WORDS if dice.random() < 0.3 else known), "null": None}.get(
            schema.get("type", ""), dice.choice(NUMBERS)
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


@pytest.mark.slow
def test_whatever_models_reply_a_run_comes_to_its_end_and_passes_verification(tmp_path: Path) -> None:
    config = Config(benchmark="wordmath", iterations=5, pool=10, held_out=4, anchors=4, decompositions=True, warmup=20)
    models = Models(Whatever("builtin/analogist", "execution", 1), Whatever("builtin/reference", "guidance", 2))
    evolve(config, runs_dir=tmp_path, runtime=Runtime(workers=2), run_id="r", models=models)
    assert [check for check in verify(find_run(tmp_path, "r")).checks if not check.ok] == []
