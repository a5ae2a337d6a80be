"""The shape of the project: its floors, the purity of its core, its packaging, and what may not be in it."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import cast

import pytest

from mage_es.engine.seams.plugins import Group, installed, load

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("events", "projections", "engine", "cli")
ROOMED = ("engine", "events")
"""The layers that are divided into rooms."""
HOUSE: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "wings": (
        (
            *("engine.auditing", "engine.bench", "engine.exports", "engine.histories", "engine.players"),
            *("engine.providers", "engine.serving", "engine.study", "engine.testing", "engine.upkeep"),
            "engine.viewing",
        ),
        ("engine.served", "engine.worth"),
        ("engine.askings",),
    ),
    "commands": (("cli",),),
    "verbs": (("engine.verbs",),),
    "work": (("engine.loop",), ("engine.session",), ("engine.run",)),
    "agents": (
        ("engine.embedders",),
        ("engine.decide", "engine.models"),
        ("engine.agents",),
    ),
    "rules": (
        ("engine.rules",),
        ("engine.commands", "engine.search"),
        ("engine.benchmarks", "engine.courses"),
        ("engine.briefs", "engine.config", "engine.prompts", "engine.sandbox", "engine.seams"),
    ),
    "projections": (("projections",),),
    "events": (
        ("events.care", "events.vocabulary"),  # at the top: no room of the log knows the vocabulary of a run
        ("events.signing",),
        ("events.log",),
        ("events.segments",),
        ("events.wal",),
        ("events.disk",),
        ("events.facts",),
        ("events.digests", "events.errors"),
    ),
}
"""The house from the roof down: its floors, and on each the rooms, row below row. A room imports rooms of lower rows
only, never one beside or above it."""
WINGS = HOUSE["wings"][0]
"""What the kernel, all other rooms but the commons, does without: CI deletes each once (tests/wings.py)."""
COMMONS = (*(room for row in HOUSE["wings"][1:] for room in row), "events.care")
"""What several wings share; the kernel does without it, too."""
FRONT_DOOR = "engine._package"
"""A table of names, which are the wings' too: it imports a name's home when the name is used."""
PURE = (
    *("projections", "engine.rules", "engine.histories.rules", "engine.serving.rules", "engine.upkeep.pruning"),
    *("engine.served.floors", "engine.served.notes", "engine.served.wording", "engine.worth.effect"),
    "engine.worth.live_gain",
    *("engine.agents", "engine.briefs", "engine.commands", "engine.config", "engine.courses", "engine.decide"),
)
RULING = (*PURE, "engine.loop")
"""Rooms that treat every benchmark alike."""
IMPURE_MODULES = {"time", "random", "uuid", "os", "socket", "subprocess", "asyncio", "datetime", "secrets"}
WRITERS = {"projections.lance", "projections.snapshot_files"}
"""Projections whose business is to write what can be rebuilt."""
OUTSIDE = re.compile(
    r"time\.(?!strptime$)\w+|(\w+\.)*(now|utcnow|today)|random\.(?!Random$)\w+|(uuid|secrets)\.\w+"
    r"|os\.(environb?|getenvb?|urandom)|np\.random\.(?!Generator$|Philox$)\w+"
)
"""What differs from one moment, process or machine to the next. Dice with a seed do not."""
SHELL = {
    "cli": "reads the environment of its user and shows how long things take",
    "events.disk.keys": "keys and nonces are dice that cannot be guessed",
    "events.errors": "knows which values of the environment are secrets",
    "engine.auditing.reproduce": "reports how long it took",
    "engine.benchmarks.files": "a user may raise how much of a file is read",
    "engine.embedders.served": "measures the latency of a server's reply",
    "engine.study.cli": "as cli",
    "engine.study.matrix": "a stop is looked for from time to time",
    "engine.models": "attempts are timed and wait for one another",
    "engine.providers": "keys are in the environment; batches are polled for; what runs in this process is timed",
    "engine.run.directory": "a run's id holds the moment of its start",
    "engine.run.pricing": "a price holds until its date",
    "engine.sandbox.sandbox": "a tool has a limit of seconds",
    "engine.seams.clock": "is the clock that others are given",
    "engine.seams.faults": "a provider may ask for patience until a date",
    "engine.serving.app": "a key may send so much a minute",
    "engine.serving.clients": "reports how long a reply took",
    "engine.serving.door": "the upstream's keys are in the environment",
    "engine.serving.journal": "opens a log that refused again from time to time",
    "engine.serving.live": "the salt of a coin is dice that cannot be guessed",
    "engine.serving.mcp": "reports how long a search took, and each word of feedback has a key of its own",
    "engine.serving.proxy": "measures what a request takes here and altogether",
    "engine.verbs.exam": "reports how long an exam took",
    "engine.verbs.replay": "reports how long a replay took",
    "engine.viewing.cli": "as cli",
    "engine.viewing.access": "a link expires, and the secret that signs it is dice that cannot be guessed",
}
"""The rooms and modules that read a clock, the environment or unseeded dice, each with its reason."""
STOP_WORDS = {
    *("a", "an", "the", "of", "is", "are", "in", "on", "to", "for", "with", "and", "or", "that", "this", "it"),
    *("its", "by", "as", "from", "at", "be", "return", "returns", "yield", "whether", "one", "each", "every"),
    *("all", "what", "which", "has", "have", "not", "no"),
}


@cache
def sources() -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name, without `mage_es.`."""
    found = {}
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> set[str]:
    """Return every name that a module imports, of `from module import name` both the module and the name in it."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(module: str) -> str:
    """Return the room of a module: a layer, or what lies directly in `engine/` or `events/`."""
    layer, _, rest = module.partition(".")
    return f"{layer}.{rest.split('.')[0]}" if layer in ROOMED and rest else layer


def lies_in(module: str, places: tuple[str, ...]) -> bool:
    return f"{module}.".startswith(tuple(f"{place}." for place in places))


def climbs(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield every import that does not lead down, as `module -> imported module`."""
    rows = [row for floor in HOUSE.values() for row in floor]
    rank = {name: number for number, row in enumerate(rows) for name in row}
    for module, tree in trees.items():
        for name in sorted(imported(tree)):
            target = name.removeprefix("mage_es.")
            if target == name or target not in sources() or room(target) in (*ROOMED, room(module)):
                continue
            if rank[room(module)] >= rank[room(target)]:
                yield f"{module} -> {target}"


def test_the_house_has_eight_floors_at_most_and_every_room_imports_only_rows_below_it() -> None:
    rooms = {room(module) for module in sources()} - {*ROOMED, FRONT_DOOR}
    assert rooms == {name for floor in HOUSE.values() for row in floor for name in row}
    assert len(HOUSE) <= 8
    assert not list(climbs({name: tree for name, tree in sources().items() if room(name) in rooms}))


def test_an_import_that_climbs_or_goes_next_door_is_found() -> None:
    upwards = ast.parse("from mage_es.engine.loop import run_iterations")
    beside = ast.parse("def f():\n    import mage_es.engine.models.registry")
    down = ast.parse("from mage_es.events.log import Log")
    assert list(climbs({"engine.rules.mastery": upwards})) == ["engine.rules.mastery -> engine.loop"]
    assert list(climbs({"engine.decide": beside})) == ["engine.decide -> engine.models.registry"]
    assert not list(climbs({"engine.session.call": down}))
    vocabulary = ast.parse("from mage_es.events.vocabulary import MAGE_ES")
    for log in ("care.verify", "log.writer", "segments.reader", "wal.bodies", "disk.keys", "facts.vocabulary"):
        assert list(climbs({f"events.{log}": vocabulary})) == [f"events.{log} -> events.vocabulary"]


def test_no_module_imports_itself_by_way_of_others() -> None:
    known = {f"mage_es.{module}" for module in sources()}
    graph = {f"mage_es.{module}": imported(tree) & known - {f"mage_es.{module}"} for module, tree in sources().items()}
    # Of `from package.module import thing` both are named; a package that holds the module is no import of its own.
    graph = {
        name: {each for each in found if not any(other.startswith(f"{each}.") for other in found)}
        for name, found in graph.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


def test_at_the_top_of_the_engine_are_its_six_modules_and_packages() -> None:
    modules = {path.stem for path in (ROOT / "engine").glob("*.py")}
    assert modules == {"__init__", "briefs", "commands", "config", "courses", "decide", "loop"}


def test_the_pure_core_reaches_no_clock_network_process_or_unseeded_randomness() -> None:
    for module, tree in sources().items():
        if lies_in(module, PURE) and module not in WRITERS:
            assert not {name.split(".")[0] for name in imported(tree)} & IMPURE_MODULES, module


def outside(tree: ast.Module) -> set[str]:
    """Return what a module reads of clock, environment and unseeded dice, as `time.monotonic`."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    bound = {alias.asname or alias.name.split(".")[0] for node in imports for alias in node.names}
    chains = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    read = {chain for chain in chains if chain.split(".")[0] in bound} | imported(tree)
    return {chain for chain in read if OUTSIDE.fullmatch(chain)}


def test_clock_environment_and_unseeded_dice_are_read_in_the_shell_only_and_there_for_a_reason() -> None:
    reading = {module: found for module, tree in sources().items() if (found := outside(tree))}
    told = {name: [m for m in reading if f"{m}.".startswith(f"{name}.")] for name in SHELL}
    assert not {module: reading[module] for module in reading if not any(module in found for found in told.values())}
    assert not [name for name, found in told.items() if not found], "no longer needed in SHELL"


def test_what_is_read_of_the_world_is_found_and_seeded_dice_are_not() -> None:
    module = "import os, time, random\nfrom datetime import datetime\nfrom time import sleep\nimport numpy as np\n"
    module += "time.time(); datetime.now(); os.environ['A']; random.random(); np.random.rand()\n"
    read = {"time.time", "time.sleep", "datetime.now", "os.environ", "random.random", "np.random.rand"}
    assert outside(ast.parse(module)) == read
    assert not outside(ast.parse("from random import Random\nrandom = Random(7)\nrandom.choice([1])"))


def test_no_processor_decides_an_order() -> None:
    """Without `kind="stable"` numpy sorts equal values differently on different processors."""
    calls = [
        node
        for module, tree in sources().items()
        if lies_in(module, (*PURE, "engine.run"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "argsort"
    ]
    assert len(calls) > 3
    assert not [ast.unparse(call) for call in calls if "kind='stable'" not in ast.unparse(call)]


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for layer in LAYERS for path in (ROOT / layer).rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_a_module_opens_with_its_purpose() -> None:
    for module, tree in sources().items():
        assert ast.get_docstring(tree), module


def words(text: str) -> set[str]:
    parted = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower().replace("_", " ")
    return {word.rstrip("s") for word in re.findall(r"[a-z0-9]+", parted)}


def repeats_the_name(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Tell whether a docstring of one sentence has no word that the name and the signature lack."""
    said = (ast.get_docstring(node) or "").strip()
    if not said or re.search(r"[.:]\s", said):
        return False
    names = node.name
    if not isinstance(node, ast.ClassDef):
        arguments = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        names = " ".join((names, *arguments, ast.unparse(node.returns) if node.returns else ""))
    return words(said) - {word.rstrip("s") for word in STOP_WORDS} <= words(names)


def test_a_docstring_says_more_than_the_name_and_the_signature() -> None:
    empty = [
        f"{module}.{node.name}"
        for module, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and repeats_the_name(node)
    ]
    assert not empty, "say more, or delete the docstring"


def test_a_docstring_that_repeats_the_name_is_found_and_one_with_a_unit_is_not() -> None:
    [empty, full] = ast.parse(
        'def latest_run(runs): "Return the latest run."\ndef wait(seconds): "Wait on the monotonic clock."'
    ).body
    assert isinstance(empty, ast.FunctionDef) and repeats_the_name(empty)
    assert isinstance(full, ast.FunctionDef) and not repeats_the_name(full)


def test_each_public_type_name_has_one_home() -> None:
    homes: dict[str, list[str]] = {}
    for module, tree in sources().items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) and len(node.targets) == 1 else []
            aliases = [target.id for target in targets if isinstance(target, ast.Name)]
            found = [node.name] if isinstance(node, ast.ClassDef) else aliases
            for name in found:
                if name[0].isupper() and not name.isupper():
                    homes.setdefault(name, []).append(module)
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_no_rule_names_a_benchmark() -> None:
    from mage_es.engine.benchmarks.registry import names

    known = set(names())
    for module, tree in sources().items():
        if lies_in(module, RULING):
            named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} & known
            assert not named, f"{module} names {named}: what a rule must know is an attribute of the benchmark"


def names_a_wing(tree: ast.Module) -> set[str]:
    """Return the strings that could be imported from a wing, as `mage_es.engine.study.ring:ring`."""
    wing = re.compile(rf"(mage_es\.)?({'|'.join(map(re.escape, WINGS))})(\.[\w.]+)?(:\w+)?")
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if wing.fullmatch(text)}


def test_the_kernel_names_no_wing_and_no_wing_another_not_even_in_a_string() -> None:
    for module, tree in sources().items():
        if room(module) != FRONT_DOOR:
            named = {text for text in names_a_wing(tree) if room(text.removeprefix("mage_es.")) != room(module)}
            assert not named, f"{module} names {named}: what a wing offers is found by its entry point"
    assert names_a_wing(ast.parse("load('mage_es.engine.study.ring:ring')")) == {"mage_es.engine.study.ring:ring"}


def test_the_kernel_imports_nothing_of_what_several_wings_share() -> None:
    for module, tree in sources().items():
        if room(module) not in (*WINGS, *COMMONS, FRONT_DOOR):
            shared = {name for name in imported(tree) if lies_in(name.removeprefix("mage_es."), COMMONS)}
            assert not shared, f"{module} imports {shared}: it is kernel then, or {module} is not"


def test_a_wing_uses_public_names_of_the_kernel_only() -> None:
    for module, tree in sources().items():
        if room(module) in WINGS:
            names = {name.removeprefix("mage_es.") for name in imported(tree) if name.startswith("mage_es.")}
            private = {name for name in names if "._" in name and room(name) not in (room(module), FRONT_DOOR)}
            assert not private, f"{module} imports {private}"


def test_a_wing_has_a_paper_of_half_a_page_and_what_it_offers_are_entry_points() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    values = [value for group, entries in offered.items() if group.startswith("mage_es.") for value in entries.values()]
    found = {value.partition(":")[0].removeprefix("mage_es.") for value in values}
    assert {room(module) for module in found} == {*WINGS}
    for wing in WINGS:
        folder = ROOT / wing.replace(".", "/")
        assert 10 <= len((folder / "README.md").read_text(encoding="utf-8").splitlines()) <= 40, wing
        assert not (folder / "cli").exists() or f"{wing}.cli" in found


def test_every_entry_point_of_ours_names_what_is_there() -> None:
    for group, entries in installed().items():
        for name in (name for name, entry in entries.items() if entry.is_ours and group.startswith("mage_es.")):
            assert load(cast(Group, group), name) is not None


@pytest.mark.paper("section 3.1, protected nodes")
def test_no_event_type_could_remove_or_edit_a_protected_memory() -> None:
    from mage_es.events.vocabulary import EVENT_TYPES

    removing = [tag for tag in EVENT_TYPES if re.search("delet|remov|edit|eras|chang|prun", tag.split(".")[1])]
    assert removing == ["pattern.pruned"]  # an abstracted pattern is not protected, and its event names nothing else
