"""MAGE as an event-sourced engine: what a frozen model learned, from what, at what cost, replayed from a log.

    import mage_es

    run = mage_es.evolve(mage_es.Config(benchmark="wordmath", iterations=2, pool=40)).run_id
    before, after = mage_es.examine(run, at="start"), mage_es.examine(run)
    assert mage_es.verify(run).ok

Rules
    - Each verb has an async form, `await mage_es.aevolve(...)`, which calls models in the running loop. The sync form
      works everywhere, even in a notebook's cell.
    - A run is given as an object, by its folder, or by its name in the folder `runs`.
    - A name is imported when it is first used: `import mage_es` itself loads no data library.
    - What is not listed here is not public, and may change without notice.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers know it by name; typing's own would take most of the time of this import

if TYPE_CHECKING:
    from mage_es.engine.benchmarks.tasks.benchmark import TaskRow as Task
    from mage_es.engine.benchmarks.tasks.scorers import Scoring as Scorer
    from mage_es.engine.benchmarks.tasks.scorers import TaskScore as Score
    from mage_es.engine.config import Config
    from mage_es.engine.models.registry import Models, open_model
    from mage_es.engine.models.retrying import RetryPolicy
    from mage_es.engine.run.budget import Limits
    from mage_es.engine.run.directory import Run, find_run, list_runs
    from mage_es.engine.run.pricing import Prices, read_prices
    from mage_es.engine.run.runtime import ProgressNote, Runtime
    from mage_es.engine.seams.benchmark import Benchmark, Question, Verdict
    from mage_es.engine.seams.embedder import Embedder
    from mage_es.engine.seams.model import Completion, Model, Request
    from mage_es.engine.served.frozen import BundleReport, FrozenRun
    from mage_es.engine.serving.clients import OpenedRun, inference_of
    from mage_es.engine.serving.open_run import aopen_run, open_run
    from mage_es.engine.verbs.ask import AskReport, aask, ask
    from mage_es.engine.verbs.baseline import BaselineReport, abaseline, aresume_baseline, resume_baseline
    from mage_es.engine.verbs.baseline import run_baseline as baseline
    from mage_es.engine.verbs.bisect import BisectPrice, BisectReport, abisect, bisect, bisect_price
    from mage_es.engine.verbs.diff import DiffReport, adiff, diff
    from mage_es.engine.verbs.effect import EffectPrice, EffectReport, aeffect, effect, effect_price
    from mage_es.engine.verbs.erase import ErasureReceipt, aerase, erase
    from mage_es.engine.verbs.evolve import aevolve, evolve
    from mage_es.engine.verbs.exam import aexamine, examine
    from mage_es.engine.verbs.exam_report import ExamReport
    from mage_es.engine.verbs.hf import HfReport, aexport_hf, export_hf
    from mage_es.engine.verbs.inspect_diff import InspectDiff, adiff_inspect, diff_inspect
    from mage_es.engine.verbs.inspect_logs import InspectReport, aexport_inspect, export_inspect
    from mage_es.engine.verbs.merge import MergeReport, amerge, merge
    from mage_es.engine.verbs.otlp import OtlpReport, aexport_otlp, export_otlp
    from mage_es.engine.verbs.prune import PruneReport, aprune, prune
    from mage_es.engine.verbs.replay import ReplayReport, areplay, replay
    from mage_es.engine.verbs.reproduce import ReproduceReport, areproduce, reproduce
    from mage_es.engine.verbs.resume import aresume, resume
    from mage_es.engine.verbs.runs import summarise
    from mage_es.engine.verbs.show import QuestionReport, show
    from mage_es.engine.verbs.summary import RunSummary
    from mage_es.engine.verbs.upgrade import UpgradePrice, aupgrade, upgrade, upgrade_price
    from mage_es.engine.verbs.upgrade_report import UpgradeReport
    from mage_es.engine.verbs.verify import VerifyReport, averify, verify
    from mage_es.engine.verbs.what_if import WhatIfReport, awhat_if, what_if, what_if_price
    from mage_es.events.errors import (
        BudgetReached,
        Interrupted,
        LogDamaged,
        MageError,
        PrerequisiteError,
        RunLocked,
        UsageError,
    )

__version__ = "0.1.0"

__all__ = [
    "AskReport",
    "BaselineReport",
    "Benchmark",
    "BisectPrice",
    "BisectReport",
    "BudgetReached",
    "BundleReport",
    "Completion",
    "Config",
    "DiffReport",
    "EffectPrice",
    "EffectReport",
    "Embedder",
    "ErasureReceipt",
    "ExamReport",
    "FrozenRun",
    "HfReport",
    "InspectDiff",
    "InspectReport",
    "Interrupted",
    "Limits",
    "LogDamaged",
    "MageError",
    "MergeReport",
    "Model",
    "Models",
    "OpenedRun",
    "OtlpReport",
    "PrerequisiteError",
    "Prices",
    "ProgressNote",
    "PruneReport",
    "Question",
    "QuestionReport",
    "ReplayReport",
    "ReproduceReport",
    "Request",
    "RetryPolicy",
    "Run",
    "RunLocked",
    "RunSummary",
    "Runtime",
    "Score",
    "Scorer",
    "Task",
    "UpgradePrice",
    "UpgradeReport",
    "UsageError",
    "Verdict",
    "VerifyReport",
    "WhatIfReport",
    "aask",
    "abaseline",
    "abisect",
    "adiff",
    "adiff_inspect",
    "aeffect",
    "aerase",
    "aevolve",
    "aexamine",
    "aexport_hf",
    "aexport_inspect",
    "aexport_otlp",
    "amerge",
    "aopen_run",
    "aprune",
    "areplay",
    "areproduce",
    "aresume",
    "aresume_baseline",
    "ask",
    "aupgrade",
    "averify",
    "awhat_if",
    "baseline",
    "bisect",
    "bisect_price",
    "diff",
    "diff_inspect",
    "effect",
    "effect_price",
    "erase",
    "evolve",
    "examine",
    "export_hf",
    "export_inspect",
    "export_otlp",
    "find_run",
    "inference_of",
    "list_runs",
    "merge",
    "open_model",
    "open_run",
    "prune",
    "read_prices",
    "replay",
    "reproduce",
    "resume",
    "resume_baseline",
    "show",
    "summarise",
    "upgrade",
    "upgrade_price",
    "verify",
    "what_if",
    "what_if_price",
]

_HOMES = {
    "engine.benchmarks.tasks.benchmark": ("Task",),
    "engine.benchmarks.tasks.scorers": ("Score", "Scorer"),
    "engine.config": ("Config",),
    "engine.models.registry": ("Models", "open_model"),
    "engine.models.retrying": ("RetryPolicy",),
    "engine.run.budget": ("Limits",),
    "engine.run.directory": ("Run", "find_run", "list_runs"),
    "engine.run.pricing": ("Prices", "read_prices"),
    "engine.run.runtime": ("ProgressNote", "Runtime"),
    "engine.seams.benchmark": ("Benchmark", "Question", "Verdict"),
    "engine.seams.embedder": ("Embedder",),
    "engine.seams.model": ("Completion", "Model", "Request"),
    "engine.served.frozen": ("BundleReport", "FrozenRun"),
    "engine.serving.clients": ("OpenedRun", "inference_of"),
    "engine.verbs.ask": ("AskReport", "aask", "ask"),
    "engine.verbs.baseline": ("BaselineReport", "abaseline", "aresume_baseline", "baseline", "resume_baseline"),
    "engine.verbs.bisect": ("BisectPrice", "BisectReport", "abisect", "bisect", "bisect_price"),
    "engine.verbs.diff": ("DiffReport", "adiff", "diff"),
    "engine.verbs.effect": ("EffectPrice", "EffectReport", "aeffect", "effect", "effect_price"),
    "engine.verbs.erase": ("ErasureReceipt", "aerase", "erase"),
    "engine.verbs.evolve": ("aevolve", "evolve"),
    "engine.verbs.exam": ("aexamine", "examine"),
    "engine.verbs.exam_report": ("ExamReport",),
    "engine.verbs.hf": ("HfReport", "aexport_hf", "export_hf"),
    "engine.verbs.inspect_diff": ("InspectDiff", "adiff_inspect", "diff_inspect"),
    "engine.verbs.inspect_logs": ("InspectReport", "aexport_inspect", "export_inspect"),
    "engine.verbs.merge": ("MergeReport", "amerge", "merge"),
    "engine.serving.open_run": ("aopen_run", "open_run"),
    "engine.verbs.otlp": ("OtlpReport", "aexport_otlp", "export_otlp"),
    "engine.verbs.prune": ("PruneReport", "aprune", "prune"),
    "engine.verbs.replay": ("ReplayReport", "areplay", "replay"),
    "engine.verbs.reproduce": ("ReproduceReport", "areproduce", "reproduce"),
    "engine.verbs.resume": ("aresume", "resume"),
    "engine.verbs.runs": ("summarise",),
    "engine.verbs.show": ("QuestionReport", "show"),
    "engine.verbs.summary": ("RunSummary",),
    "engine.verbs.upgrade": ("UpgradePrice", "aupgrade", "upgrade", "upgrade_price"),
    "engine.verbs.upgrade_report": ("UpgradeReport",),
    "engine.verbs.verify": ("VerifyReport", "averify", "verify"),
    "engine.verbs.what_if": ("WhatIfReport", "awhat_if", "what_if", "what_if_price"),
    "events.errors": (
        *("BudgetReached", "Interrupted", "LogDamaged", "MageError"),
        *("PrerequisiteError", "RunLocked", "UsageError"),
    ),
}
"""The module of each name; a test compares it with the imports above, which are for type checkers."""
_MODULES = ("dspy", "inspect")
"""Modules of the package itself, each with a library of its own to speak to."""
_OWN_NAMES = {"Score": "TaskScore", "Scorer": "Scoring", "Task": "TaskRow", "baseline": "run_baseline"}
"""Names that are different in their modules."""

if not TYPE_CHECKING:  # a type checker that saw this would accept any misspelt name

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"mage_es.{name}")
        for module, names in _HOMES.items():
            if name in names:
                found = getattr(import_module(f"mage_es.{module}"), _OWN_NAMES.get(name, name))
                globals()[name] = found  # the next look-up finds it without a call of this function
                return found
        raise AttributeError(f"module 'mage_es' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
