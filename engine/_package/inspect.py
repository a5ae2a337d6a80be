"""For Inspect (inspect_ai): a solver that adds a run's memories to any of its tasks.

    from inspect_ai import eval
    from mage_es.inspect import with_memory

    eval(task, solver=[with_memory("runs/support"), generate()])

On Inspect's command line its name is `mage_es/with_memory`, by the entry point of the package.

It needs the extra `inspect`; exports and comparisons of logs are in `mage_es` itself.
"""

from mage_es.engine.benchmarks.evals import require_inspect

require_inspect()

from mage_es.engine.serving.inspect_solver import with_memory  # noqa: E402 - what is missing was named before

__all__ = ["with_memory"]
