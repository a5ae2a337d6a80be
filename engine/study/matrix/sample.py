"""A complete matrix file; the command's help shows it."""

from __future__ import annotations

SAMPLE = """\
benchmarks = ["wordmath", "truthworld"]
seeds = [42, 43]
learners = ["benchmark"]       # execution models; "benchmark": the benchmark's own
teachers = ["benchmark"]       # guidance models
exams = ["start", "latest"]    # markers at which every run is examined

[settings]                     # of every run, named as in mage-es.toml
iterations = 4
pool = 60

[benchmark.truthworld]         # of the runs of one benchmark
pool = 40

[variants.full]                # the whole system

[variants.no-success]          # the same with other settings
success_memories = false

# [variants.react]             # a baseline on the same held-out questions
# baseline = "react"

# [[exclude]]                  # combinations that are left out
# benchmark = "webshop"
# learner = "vllm/meta-llama/Llama-3.1-8B-Instruct"
"""
