"""`mage_es.gepa`: a run as evidence for the GEPA optimizer. It needs `python -m pip install 'mage-es[gepa]'`."""

from mage_es.engine.study.gepa import RunAdapter as Adapter

__all__ = ["Adapter"]
