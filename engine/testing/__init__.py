"""Tests for your own parts: `check_benchmark` checks what must hold for every benchmark."""

from mage_es.engine.testing.benchmarks import check_benchmark

__all__ = ["check_benchmark"]
