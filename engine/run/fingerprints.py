"""The code that scored an answer, as hashes: a run records them at its start, and again at each exam."""

import hashlib
import inspect
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.rules.prompt import worked
from mage_es.engine.run.questions import origin_of
from mage_es.engine.run.world import World
from mage_es.engine.seams.benchmark import scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.events.digests import sha256_text
from mage_es.events.errors import MageError, UsageError
from mage_es.events.vocabulary import ExamOpened, ExamRejudged, RunStarted

_LAYERS = ("mage_es.engine", "mage_es.events", "mage_es.projections")
"""What a number can depend on; the command line only prints it."""
_PASSED_OVER = {"node_modules", "cli"}
"""Folders on which no number depends: a wing's commands are part of the command line."""
_PROBED = 8
"""How many questions are used to probe a scorer."""


class Fingerprints(NamedTuple):
    """`scorer_sha256` is the hash of the file of a scorer or benchmark from outside the package, "" for the package's
    own; `probes_sha256` is the hash of verdicts on fixed replies, "" if there is no rule to ask, or the rule is the
    user's."""

    package_sha256: str
    scorer_sha256: str
    probes_sha256: str


def fingerprints(world: World) -> Fingerprints:
    return Fingerprints(package_sha256(), _scorer(world), _probes(world))


@cache
def package_sha256() -> str:
    """Return the hash of the package's modules and prompts, wherever each layer is installed."""
    found = hashlib.sha256()
    for layer in _LAYERS:
        root = Path(next(iter(import_module(layer).__path__)))
        folders = [root, *sorted(path.parent for path in root.rglob("__init__.py"))]
        for folder in dict.fromkeys(folders):
            if not _PASSED_OVER.isdisjoint(folder.relative_to(root).parts):
                continue
            for path in sorted([*folder.glob("*.py"), *(folder.glob("*.md") if folder.name == "prompts" else ())]):
                found.update(f"{layer}/{path.relative_to(root).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def scorer_of(event: RunStarted | ExamOpened | ExamRejudged) -> tuple[str, str]:
    """Return the scorer's fingerprints in an event."""
    return event.scorer_sha256, event.probes_sha256


def scorer_in_words(scorer: tuple[str, str]) -> str:
    source, probes = scorer
    parts = [*([f"file {source[:16]}"] if source else ()), *([f"verdicts on probes {probes[:16]}"] if probes else ())]
    return ", ".join(parts) or "none of a known source"


def _scorer(world: World) -> str:
    try:
        given: Any = getattr(world.benchmark, "own_scorer", None) or origin_of(world.benchmark)
    except UsageError:  # a run can be served without it
        return ""
    function = given if inspect.isfunction(given) else type(given)
    if function.__module__.startswith("mage_es."):
        return ""
    with suppress(OSError, TypeError):  # the whole module, since what a function calls decides too
        if file := inspect.getsourcefile(function):
            return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    with suppress(OSError, TypeError):
        return sha256_text(inspect.getsource(function))
    return ""  # typed in, or written in C: there is no source


def _probes(world: World) -> str:
    if not world.has_gold or world.is_scored_apart or is_sequential(world.benchmark):
        return ""
    known = [world.questions[name] for name in sorted(world.setting.evolution)]
    asked = [question for question in known if not question.subject][:_PROBED]
    verdicts = []
    for question, other in zip(asked, [*asked[1:], *asked[:1]], strict=True):
        right = worked("", question.gold, world.benchmark.answer_format)
        for reply in (right, question.gold, worked("", other.gold, world.benchmark.answer_format), "I do not know."):
            try:
                verdict = scored(world.benchmark, question, reply)
            except MageError:  # a library of the scorer's is missing
                return ""
            verdicts.append((question.id, verdict.answer, verdict.score, verdict.strict, verdict.undecided))
    return hashlib.sha256(msgspec.json.encode(verdicts)).hexdigest()
