"""Benchmarks: questions with checkable answers, their scorers, and where their data comes from."""
