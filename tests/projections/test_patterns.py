"""The abstracted patterns by themselves."""

import msgspec

from mage_es.events import vocabulary as v
from mage_es.projections.patterns import PatternRow, Patterns
from tests.kit.stages import flat, round_trip
from tests.kit.strategies import history

SAMPLE = next(e for e in flat(history(seed=1, iterations=1, questions=1)) if isinstance(e, v.PatternAbstracted))


def pattern(memory_id: str, confidence: int, *, k: int = 0) -> v.PatternAbstracted:
    return msgspec.structs.replace(SAMPLE, memory_id=memory_id, confidence_micro=confidence, task_type="t", iteration=k)


def patterns_of(*events: v.Event) -> Patterns:
    patterns = Patterns()
    for event in events:
        patterns.apply(event)
    return patterns


def in_use(patterns: Patterns) -> list[str]:
    return [row.memory_id for row in patterns.of("t")]


def test_a_row_begins_with_the_fields_of_its_event_in_their_order() -> None:
    fields = v.PatternAbstracted.__struct_fields__
    assert PatternRow.__struct_fields__[: len(fields)] == fields


def test_the_most_confident_come_first_then_the_older() -> None:
    patterns = patterns_of(pattern("later", 500, k=2), pattern("sure", 900), pattern("earlier", 500, k=1))
    assert in_use(patterns) == ["sure", "earlier", "later"]
    assert patterns.of("another type") == []


def test_support_assigns_counts_and_confidence() -> None:
    patterns = patterns_of(
        pattern("a", 900_000),
        pattern("b", 800_000),
        v.PatternSupported(memory_id="a", successes=1, failures=3, confidence_micro=333_333),
    )
    row = patterns.pattern("a")
    assert row is not None and (row.successes, row.failures, row.confidence_micro) == (1, 3, 333_333)
    assert in_use(patterns) == ["b", "a"]


def test_a_pruned_pattern_stays_stored_and_never_comes_back() -> None:
    patterns = patterns_of(
        pattern("a", 900_000),
        v.PatternPruned(memory_id="a", confidence_micro=200_000, reason="below 0.3"),
        v.PatternSupported(memory_id="a", successes=9, failures=1, confidence_micro=833_333),
        pattern("a", 900_000),
        v.MemoryReleased(memory_id="a", reason="", by="user"),
    )
    row = patterns.pattern("a")
    assert in_use(patterns) == [] and row is not None and row.pruned and row.successes == 9


def test_quarantine_takes_a_pattern_out_of_use_until_it_is_released() -> None:
    patterns = patterns_of(pattern("a", 900_000), v.MemoryQuarantined(memory_id="a", reason="", by="user"))
    assert in_use(patterns) == [] and patterns.is_quarantined("a")

    patterns.apply(v.MemoryReleased(memory_id="a", reason="", by="user"))
    assert in_use(patterns) == ["a"]


def test_loaded_patterns_answer_as_the_dumped_ones() -> None:
    gone = v.PatternPruned(memory_id="b", confidence_micro=1, reason="")
    patterns, loaded = patterns_of(pattern("a", 900_000), pattern("b", 100), gone), Patterns()
    loaded.load(round_trip(patterns.dump()))

    assert loaded.digest() == patterns.digest()
    assert loaded.of("t") == patterns.of("t") and loaded.pattern("b") == patterns.pattern("b")
