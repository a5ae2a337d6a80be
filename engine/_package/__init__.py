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
    from mage_es.engine.auditing.reproduce import ReproduceReport, areproduce, reproduce
    from mage_es.engine.auditing.verify import VerifyReport, averify, verify
    from mage_es.engine.benchmarks.tasks.benchmark import TaskRow as Task
    from mage_es.engine.benchmarks.tasks.scorers import Scoring as Scorer
    from mage_es.engine.benchmarks.tasks.scorers import TaskScore as Score
    from mage_es.engine.config import Config
    from mage_es.engine.histories.bisect import BisectReport, abisect, bisect, bisect_price
    from mage_es.engine.histories.diff import DiffReport, adiff, diff
    from mage_es.engine.histories.effect import EffectReport, aeffect, effect, effect_price
    from mage_es.engine.histories.fork import ForkReport, afork, fork
    from mage_es.engine.histories.inspect_diff import InspectDiff, adiff_inspect, diff_inspect
    from mage_es.engine.histories.merge import MergeReport, amerge, merge
    from mage_es.engine.histories.rejudge import RejudgeReport, arejudge, rejudge, rejudge_price
    from mage_es.engine.histories.upgrade import UpgradePrice, aupgrade, upgrade, upgrade_price
    from mage_es.engine.histories.upgrade_report import UpgradeReport
    from mage_es.engine.histories.what_if import WhatIfReport, awhat_if, what_if, what_if_price
    from mage_es.engine.models.registry import Models, open_model
    from mage_es.engine.models.retrying import RetryPolicy
    from mage_es.engine.neighbours.hf import HfReport, aexport_hf, export_hf
    from mage_es.engine.neighbours.inspect_logs import InspectReport, aexport_inspect, export_inspect
    from mage_es.engine.neighbours.otlp import OtlpReport, aexport_otlp, export_otlp
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
    from mage_es.engine.serving.publish import PublishReport, apublish, publish, publish_price
    from mage_es.engine.session.reasking import AskingPrice
    from mage_es.engine.upkeep.erase import ErasureReceipt, aerase, erase
    from mage_es.engine.upkeep.memory import CascadeReceipt, acascade, acurate, cascade, curate
    from mage_es.engine.upkeep.prune import PruneReport, aprune, prune
    from mage_es.engine.verbs.baseline import BaselineReport, abaseline, aresume_baseline, resume_baseline
    from mage_es.engine.verbs.baseline import run_baseline as baseline
    from mage_es.engine.verbs.evolve import aevolve, evolve, evolve_price
    from mage_es.engine.verbs.exam import aexamine, examine
    from mage_es.engine.verbs.exam_report import ExamReport
    from mage_es.engine.verbs.replay import ReplayReport, areplay, replay
    from mage_es.engine.verbs.resume import aresume, resume
    from mage_es.engine.verbs.runs import summarise
    from mage_es.engine.verbs.summary import RunSummary
    from mage_es.engine.viewing.ask import AskReport, aask, ask
    from mage_es.engine.viewing.show import QuestionReport, show
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
    "AskingPrice",
    "BaselineReport",
    "Benchmark",
    "BisectReport",
    "BudgetReached",
    "BundleReport",
    "CascadeReceipt",
    "Completion",
    "Config",
    "DiffReport",
    "EffectReport",
    "Embedder",
    "ErasureReceipt",
    "ExamReport",
    "ForkReport",
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
    "PublishReport",
    "Question",
    "QuestionReport",
    "RejudgeReport",
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
    "acascade",
    "acurate",
    "adiff",
    "adiff_inspect",
    "aeffect",
    "aerase",
    "aevolve",
    "aexamine",
    "aexport_hf",
    "aexport_inspect",
    "aexport_otlp",
    "afork",
    "amerge",
    "aopen_run",
    "aprune",
    "apublish",
    "arejudge",
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
    "cascade",
    "curate",
    "diff",
    "diff_inspect",
    "effect",
    "effect_price",
    "erase",
    "evolve",
    "evolve_price",
    "examine",
    "export_hf",
    "export_inspect",
    "export_otlp",
    "find_run",
    "fork",
    "inference_of",
    "list_runs",
    "merge",
    "open_model",
    "open_run",
    "prune",
    "publish",
    "publish_price",
    "read_prices",
    "rejudge",
    "rejudge_price",
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

_MODULES = ("dspy", "gepa", "inspect")
"""Modules of the package itself, each with a library of its own to speak to."""

if not TYPE_CHECKING:  # a type checker that saw this would accept any misspelt name
    _homes = {}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"mage_es.{name}")
        if name not in __all__:
            raise AttributeError(f"module 'mage_es' has no attribute {name!r}")
        module, own_name = (_homes or _read_homes())[name]
        found = getattr(import_module(module), own_name)
        globals()[name] = found  # the next look-up finds it without a call of this function
        return found

    def _read_homes() -> dict[str, tuple[str, str]]:
        """Read off the imports above, which are for type checkers, the module of each name and its own name there."""
        import ast

        for node in ast.walk(ast.parse(__loader__.get_source(__name__))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("mage_es."):
                _homes.update((each.asname or each.name, (node.module, each.name)) for each in node.names)
        return _homes

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
