"""Generated worlds: benchmarks made from a seed, with a known truth."""
