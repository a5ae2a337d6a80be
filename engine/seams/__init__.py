"""The seams: protocols for what you can plug in.

model         `Model`: a request in, a completion out; raise `ModelFault` (faults) for a call that failed
benchmark     `Benchmark`: questions and a scorer
environment   `SequentialBenchmark`, `Environment`: questions that are episodes
embedder      `Embedder`: texts in, unit vectors out; with a `Meter` (metering) if its calls cost something
search        `Search`: pages by title or query
plugins       the entry points under which an installed package offers any of these
"""
