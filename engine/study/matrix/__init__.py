"""Matrices of runs: teachers, learners, benchmarks, variants and seeds, each combination a run with its exams."""
