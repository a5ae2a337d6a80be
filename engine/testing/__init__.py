"""Tests of your own parts: `check_benchmark`, what must hold of every benchmark."""

from mage_es.engine.testing.benchmarks import check_benchmark

__all__ = ["check_benchmark"]
