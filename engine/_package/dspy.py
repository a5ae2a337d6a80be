"""`mage_es.dspy`: what a run learned, for DSPy programs. It needs `python -m pip install 'mage-es[dspy]'`."""

from mage_es.engine.serving.dspy import DspyMemory as Memory

__all__ = ["Memory"]
