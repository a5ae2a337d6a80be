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

if TYPE_CHECKING:  # `name as name` offers it to users' type checkers as well
    from mage_es.engine.auditing.reproduce import (
        ReproduceReport as ReproduceReport,
        areproduce as areproduce,
        reproduce as reproduce,
    )
    from mage_es.engine.auditing.verify import VerifyReport as VerifyReport, averify as averify, verify as verify
    from mage_es.engine.benchmarks.tasks.benchmark import TaskRow
    from mage_es.engine.benchmarks.tasks.scorers import Scoring, TaskScore
    from mage_es.engine.config import Config as Config
    from mage_es.engine.histories.bisect import (
        BisectReport as BisectReport,
        abisect as abisect,
        bisect as bisect,
        bisect_price as bisect_price,
    )
    from mage_es.engine.histories.diff import DiffReport as DiffReport, adiff as adiff, diff as diff
    from mage_es.engine.histories.effect import EffectReport as EffectReport, aeffect as aeffect, effect as effect
    from mage_es.engine.histories.fork import ForkReport as ForkReport, afork as afork, fork as fork
    from mage_es.engine.histories.inspect_diff import (
        InspectDiff as InspectDiff,
        adiff_inspect as adiff_inspect,
        diff_inspect as diff_inspect,
    )
    from mage_es.engine.histories.merge import MergeReport as MergeReport, amerge as amerge, merge as merge
    from mage_es.engine.histories.rejudge import (
        RejudgeReport as RejudgeReport,
        arejudge as arejudge,
        rejudge as rejudge,
        rejudge_price as rejudge_price,
    )
    from mage_es.engine.histories.upgrade import (
        UpgradePrice as UpgradePrice,
        aupgrade as aupgrade,
        upgrade as upgrade,
        upgrade_price as upgrade_price,
    )
    from mage_es.engine.histories.upgrade_report import UpgradeReport as UpgradeReport
    from mage_es.engine.histories.what_if import WhatIfReport as WhatIfReport, awhat_if as awhat_if, what_if as what_if
    from mage_es.engine.models.registry import Models as Models, open_model as open_model
    from mage_es.engine.models.retrying import RetryPolicy as RetryPolicy
    from mage_es.engine.exports.hf import HfReport as HfReport, aexport_hf as aexport_hf, export_hf as export_hf
    from mage_es.engine.exports.inspect_logs import (
        InspectReport as InspectReport,
        aexport_inspect as aexport_inspect,
        export_inspect as export_inspect,
    )
    from mage_es.engine.exports.otlp import (
        OtlpReport as OtlpReport,
        aexport_otlp as aexport_otlp,
        export_otlp as export_otlp,
    )
    from mage_es.engine.run.budget import Limits as Limits
    from mage_es.engine.run.directory import Run as Run, find_run as find_run, list_runs as list_runs
    from mage_es.engine.run.pricing import Prices as Prices, read_prices as read_prices
    from mage_es.engine.run.runtime import ProgressNote as ProgressNote, Runtime as Runtime
    from mage_es.engine.seams.benchmark import Benchmark as Benchmark, Question as Question, Verdict as Verdict
    from mage_es.engine.seams.embedder import Embedder as Embedder
    from mage_es.engine.seams.faults import Fault as Fault, ModelFault as ModelFault
    from mage_es.engine.seams.model import Completion as Completion, Model as Model, Request as Request
    from mage_es.engine.served.frozen import BundleReport as BundleReport, FrozenRun as FrozenRun
    from mage_es.engine.serving.clients import OpenedRun as OpenedRun, inference_of as inference_of
    from mage_es.engine.serving.open_run import aopen_run as aopen_run, open_run as open_run
    from mage_es.engine.serving.publish import (
        PublishReport as PublishReport,
        apublish as apublish,
        publish as publish,
        publish_price as publish_price,
    )
    from mage_es.engine.run.asking_price import AskingPrice as AskingPrice
    from mage_es.engine.study.baseline import (
        BaselineReport as BaselineReport,
        abaseline as abaseline,
        aresume_baseline as aresume_baseline,
        baseline as baseline,
        resume_baseline as resume_baseline,
    )
    from mage_es.engine.upkeep.erase import ErasureReceipt as ErasureReceipt, aerase as aerase, erase as erase
    from mage_es.engine.upkeep.memory import (
        CascadeReceipt as CascadeReceipt,
        acascade as acascade,
        acurate as acurate,
        cascade as cascade,
        curate as curate,
    )
    from mage_es.engine.upkeep.prune import PruneReport as PruneReport, aprune as aprune, prune as prune
    from mage_es.engine.verbs.evolve import aevolve as aevolve, evolve as evolve, evolve_price as evolve_price
    from mage_es.engine.verbs.exam import aexamine as aexamine, examine as examine
    from mage_es.engine.verbs.exam_report import ExamReport as ExamReport
    from mage_es.engine.verbs.replay import ReplayReport as ReplayReport, areplay as areplay, replay as replay
    from mage_es.engine.verbs.resume import aresume as aresume, resume as resume
    from mage_es.engine.verbs.runs import summarise as summarise
    from mage_es.engine.verbs.summary import RunSummary as RunSummary
    from mage_es.engine.viewing.ask import AskReport as AskReport, aask as aask, ask as ask
    from mage_es.engine.viewing.show import QuestionReport as QuestionReport, show as show
    from mage_es.events.errors import (
        BudgetReached as BudgetReached,
        Interrupted as Interrupted,
        LogDamaged as LogDamaged,
        MageError as MageError,
        PrerequisiteError as PrerequisiteError,
        RunLocked as RunLocked,
        UsageError as UsageError,
    )

    Score = TaskScore
    Scorer = Scoring
    Task = TaskRow

__version__ = "0.1.0"

_MODULES = ("dspy", "gepa", "inspect")
"""Modules of the package itself, each an interface to another library."""

if not TYPE_CHECKING:  # a type checker that saw this would accept any misspelt name
    _homes = {}

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"mage_es.{name}")
        homes = _homes or _read_homes()
        if name == "__all__":
            return sorted(homes)
        if name not in homes:
            raise AttributeError(f"module 'mage_es' has no attribute {name!r}")
        module, own_name = homes[name]
        found = getattr(import_module(module), own_name)
        globals()[name] = found  # the next look-up finds it without a call of this function
        return found

    def _read_homes() -> dict[str, tuple[str, str]]:
        """Read each name's module, and its name there, from the block above, which is written for type checkers."""
        import ast

        block = next(node for node in ast.parse(__loader__.get_source(__name__)).body if isinstance(node, ast.If)).body
        imports = [(node.module, each) for node in block if isinstance(node, ast.ImportFrom) for each in node.names]
        found = {each.name: (module, each.name) for module, each in imports}
        _homes.update((each.asname, found[each.name]) for _, each in imports if each.asname)
        _homes.update((node.targets[0].id, found[node.value.id]) for node in block if isinstance(node, ast.Assign))
        return _homes

    def __dir__() -> list[str]:
        return sorted({*globals(), *(_homes or _read_homes())})
