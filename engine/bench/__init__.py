"""The nine benchmarks of the paper, their environments and their data."""
