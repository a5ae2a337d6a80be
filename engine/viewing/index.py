"""What a page knows about a run before it asks for more: what it is, where it came from, and which chunks it has."""

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from mage_es import __version__
from mage_es.engine.config import Config, parse
from mage_es.engine.run.inheriting import inheritance, is_merged
from mage_es.engine.run.world import baseline_of, first_event
from mage_es.engine.viewing.reading import RunReading
from mage_es.engine.viewing.tables import columns_of, packed
from mage_es.events import vocabulary as v
from mage_es.events.log.markers import mark_of

_MARKER = ("seq", "iteration", "phase")
_BASELINES = (
    *("benchmark", "seed", "held_out", "anchors", "execution", "judge", "search", "search_passages", "max_tokens"),
    *("embedder", "teacher_sees", "answer_temperature", "task_types", "episode_steps", "episode_history"),
)
"""The settings that apply to a baseline."""
_UPGRADES = ("benchmark", "execution", "max_tokens", "recall", "gate")
"""The settings that apply to an upgrade."""


def index_of(
    reading: RunReading,
    *,
    name: str,
    opened: bool,
    stamp: str,
    overview: Mapping[str, Sequence[Any]],
    chunks: Mapping[str, Sequence[int]],
    counts: Mapping[str, int],
) -> dict[str, Any]:
    """Return the index (engine/viewing/tables.py). `overview` is that table, `stamp` "" for a copy."""
    run, life, reader = reading.run, reading.life, reading.reader
    started = next(iter(reader.of(v.RunStarted, until=1)), None) if reader and life.seq else None
    config = parse(started.config) if started else None
    finished = life.state.progress.finished
    state = "damaged" if reading.problem else "finished" if finished else "unfinished" if life.seq else "empty"
    begun = inheritance(reader) if reader and life.seq else None
    parent = None
    if begun:
        parent = begun.parent if is_merged(begun) else f"{mark_of(begun.iteration)} of {begun.parent}"
    markers = columns_of(life.markers)
    return {
        "run": name,
        "path": str(run.path) if opened else run.path.name,
        "named": shlex.quote(str(run.path.absolute()) if opened else run.path.name),
        "kind": _kind(reading, started, begun),
        "state": state,
        "problem": reading.problem or ("" if life.seq else "It ended before its first event."),
        "benchmark": started.benchmark if started else "",
        "measure": "score" if life.asked.episodes else "accuracy",
        "config": msgspec.to_builtins(config) if config else {},
        "models": {
            "execution": started.execution_model if started else "",
            "guidance": started.guidance_model if started else "",
            "judge": config.judge if config else "",
            "embedder": started.embedder if started else "",
        },
        "last": life.seq,
        "head": "" if reading.problem or reader is None else reader.head.chain,
        "stamp": stamp,
        "began_us": reading.times[0],
        "ended_us": reading.times[-1],
        "parent": parent,
        "command": _command(reading, config, name=name, opened=opened) if config else "",
        "exact": life.exact,
        "markers": packed({each: markers.get(each, []) for each in _MARKER}, 0, len(life.markers) - 1),
        "anchors": _anchors(overview),
        "marks": life.marks,
        "types": life.types(),
        "chunks": chunks,
        "copy": not stamp,
        "counts": counts,
        "version": __version__,
    }


def _anchors(overview: Mapping[str, Sequence[Any]]) -> list[tuple[int, float]]:
    """Return the share of anchors that were right, with each event at which it changed."""
    names = ("from", "anchor_correct", "anchor_total")
    rows = zip(*(overview[name] for name in names), strict=True)
    shares = ((seq, round(correct / total, 4)) for seq, correct, total in rows if total)
    return [next(same) for _, same in groupby(shares, itemgetter(1))]


def _kind(reading: RunReading, started: v.RunStarted | None, begun: v.RunInherited | None) -> str:
    if reading.reader and started and baseline_of(reading.reader):
        return "baseline"
    if begun and begun.is_served:
        return "served"
    return "episodes" if reading.life.asked.episodes else "questions"


def _command(reading: RunReading, config: Config, *, name: str, opened: bool) -> str:
    """Return the command that starts the same run, with every setting that differs from its default or its parent's."""
    reader = reading.reader
    usual, words, names = Config(benchmark=config.benchmark), ["evolve", config.benchmark], Config.__struct_fields__
    if reader and (begun := baseline_of(reader)):
        words, names = ["baseline", begun.baseline, config.benchmark], _BASELINES
    if reader and (parent := inheritance(reader)):
        where = ["--runs-dir", str(reading.run.path.parent.absolute())] if opened else []
        if is_merged(parent):
            # As they were named: the settings are those of the first.
            both = parent.parent
            marks = sorted(reader.of(v.RunMerged, since=1), key=lambda mark: not both.startswith(f"{mark.parent} + "))
            merged = (f"{mark.parent}@{mark_of(mark.iteration)}" for mark in marks)
            return shlex.join(["mage-es", "merge", *merged, "--run-id", name, *where])
        if parent.is_served:
            return shlex.join(["mage-es", "serve", parent.parent, *where])
        if reader.past and not reading.problem:
            usual = parse(first_event(reader.past.reader).config)
        since = ["--from", parent.parent, "--at", mark_of(parent.iteration), *where]
        words = ["evolve", *([] if config.benchmark == usual.benchmark else [config.benchmark]), *since]
        if parent.reproof:
            words, names = ["upgrade", *since[1:], "--sample", str(parent.reproof)], _UPGRADES
    for setting in names[1:]:
        value, flag = getattr(config, setting), setting.replace("_", "-")
        if value != getattr(usual, setting):
            is_switch = isinstance(value, bool)
            words += [f"--{flag}" if value else f"--no-{flag}"] if is_switch else [f"--{flag}", str(value)]
    return shlex.join(["mage-es", *words])
