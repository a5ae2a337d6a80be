"""Sequential environments: benchmarks whose questions are episodes of many actions."""
