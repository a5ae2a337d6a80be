"""`mage_es.dspy`: what a run learned, for programs of DSPy. It needs `python -m pip install 'mage-es[dspy]'`."""

from mage_es.engine.serving.dspy import DspyMemory as Memory

__all__ = ["Memory"]
