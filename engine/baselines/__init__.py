"""Baselines: ways of prompting that learn nothing, with the same model, questions, extraction and scorer as MAGE.

`BASELINES` is the table of them. A run, an exam and a table of results take a baseline by its name there.
"""

from mage_es.engine.baselines.answering import BaselineTrial, Shot
from mage_es.engine.baselines.table import BASELINES, Baseline, planned, started

__all__ = ["BASELINES", "Baseline", "BaselineTrial", "Shot", "planned", "started"]
