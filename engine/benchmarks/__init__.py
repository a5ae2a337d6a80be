"""Benchmarks: questions with checkable answers, their scorers, and the files they are read from.

What a benchmark must offer is the protocol in `engine/seams/benchmark.py`: `questions(split)`, `score(question, reply)`
and a few attributes, such as its licence and answer format. A sequential one also has `environment(question)`
(`engine/seams/environment.py`). `measure` and `total` (`measuring.py`) are optional: they score predictions made
elsewhere.

The parts of a benchmark that is read from files, `gsm8k.py` being the shortest example:

    _Row          a struct: the fields of one upstream record that are used
    read          records of one file to questions (records.py); malformed ones are listed, and nothing is loaded
    verdict       a reply to a `Verdict`: score, and `strict` for upstream's own rule to the letter
    measure       upstream's metrics of one prediction; `total` sums them up
    GSM8K         the `Definition` (engine/bench/dataset.py): these functions, the names of the files, the answer format

Larger benchmarks are packages with the same parts: `benchmark.py` with the `Definition`, `scoring.py` or `matching.py`
for verdicts, and modules for their own needs. `registry.py` opens benchmarks by name. Those of the paper are in the
wing `engine/bench/`, whose `dataset.py` finds files and divides splits; generated ones in `engine/players/worlds/`.

To add one:
    - own questions in a table: no code, `--benchmark tasks/FILE` (tasks/)
    - a plug-in in a package of your own: `mage-es new benchmark NAME` writes its skeleton, with a test
    - one of ours: a `Definition`, an entry in `engine/bench/entries.py`, its name among the entry points of
      `pyproject.toml`, its sources in `engine/bench/fetching.py`, and its tests
"""
