"""A memory is for questions that it is about: how near it must be is measured on questions as traffic words them."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.floors import Floors
from mage_es.engine.served.floors import floors_of, nearest_of, probes_of
from mage_es.engine.served.wording import EVERYDAY, readings, shared, wrapped
from mage_es.engine.serving.rules.trials import nearest_of_others
from mage_es.events.vocabulary import MemoryAppended
from mage_es.projections.memory import Memory
from tests.engine.rules.test_retrieval import memory_of, remembered, unit

EMBEDDER = HashEmbedder()
OTHERS = ("How do I reset my router?", "What is the capital of France?", "Write a poem about autumn.", "hi", "Thanks!")


def ticket(number: int) -> str:
    dice = Random(number)
    name, city = dice.choice(["Ana", "Ben", "Cem", "Dora"]), dice.choice(["Lyon", "Graz", "Porto", "Turku"])
    what = dice.choice(
        ["was charged twice for order", "never got parcel", "cannot log in as user", "says there is noise in unit"]
    )
    return f"On Monday {name} from {city} {what} {dice.randint(100, 999)}. Which team of the help desk answers this?"


def cases(texts: Sequence[str], *, task_type: str = "t", first: int = 0) -> list[MemoryAppended]:
    vectors = EMBEDDER.encode(texts)
    return [
        remembered(f"{task_type}-{first + place:04}", vector, ordinal=first + place, task_type=task_type, question=text)
        for place, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]


def floors(memory: Memory, *task_types: str) -> Floors:
    probes = probes_of(memory, task_types)
    return floors_of(memory, probes, EMBEDDER.encode([probe.text for probe in probes]))


def share_near(memory: Memory, texts: Sequence[str], floor: float) -> float:
    nearest = nearest_of(memory, "t", EMBEDDER.encode(texts), [""] * len(texts))
    return float(np.mean([each >= floor for each in nearest]))


def test_questions_of_a_template_are_near_enough_with_thanks_and_everyday_ones_are_not() -> None:
    memory = memory_of(*cases([ticket(number) for number in range(120)]))
    floor, new = floors(memory, "t").of("t"), [ticket(number) for number in range(1000, 1060)]
    for words in ("{} Thanks!", "Quick one: {} Cheers, Tom", "hey!! {} pls help asap :)"):
        assert share_near(memory, [words.format(text) for text in new], floor) >= 0.95
    assert share_near(memory, OTHERS, floor) == 0
    own = np.quantile(nearest_of_others(memory, "t", 256), 0.05)
    assert floor < own - 0.05, "what the memories are to each other says nothing of how people write"


def test_of_wrapped_questions_nineteen_of_twenty_find_a_memory_of_another() -> None:
    texts = [ticket(number) for number in range(240)]
    memory, kept = memory_of(*cases(texts[:120])), texts[120:]
    floor = floors(memory, "t").of("t")
    assert share_near(memory, [wrapped(text, number) for number, text in enumerate(kept)], floor) >= 0.9


def test_what_is_asked_of_anything_in_the_template_of_the_memories_is_far() -> None:
    memory = memory_of(*cases([ticket(number) for number in range(120)]))
    floor = floors(memory, "t").of("t")
    asked = [f"{text} Which team of the help desk answers this?" for text in (*EVERYDAY, *OTHERS)]
    assert share_near(memory, asked, floor) < 0.1 < share_near(memory, asked, 0.4)


def test_memories_of_the_same_question_and_type_strategies_are_no_neighbours() -> None:
    events = cases([ticket(number) for number in range(60)])
    again = [
        remembered(
            f"{each.memory_id}-again", np.frombuffer(each.embedding, dtype="<f4"), ordinal=100 + place,
            question_id=each.question_id, question=each.question,
        )
        for place, each in enumerate(events)
    ]  # fmt: skip
    strategy = remembered("how", unit(*([1.0] * 128)), ordinal=500, kind="type_strategy", outcome="failure_memory")
    nearest = sorted(nearest_of_others(memory_of(*events), "t", 256))
    twice = sorted(nearest_of_others(memory_of(*events, *again, strategy), "t", 256))
    assert twice[::2] == pytest.approx(nearest) and min(nearest) < 0.95


def test_a_type_with_few_memories_takes_the_floor_of_all_and_a_run_with_few_has_none() -> None:
    few = cases([ticket(number) for number in range(5)], task_type="few")
    many = cases([ticket(number) for number in range(100, 200)], task_type="many")
    found = floors(memory_of(*few, *many), "few", "many", "empty")
    assert 0 < found.of("few") == found.of("empty") and set(found.by_type) == {"many"}
    assert floors(memory_of(*few), "few").of("few") == floors(memory_of(), "t").of("t") == 0


def test_however_many_memories_and_types_there_are_few_texts_are_embedded() -> None:
    memory = memory_of(*cases([ticket(number) for number in range(900)]))
    assert len(probes_of(memory, ["t"])) <= 256 + 2 * len(EVERYDAY)


def test_a_turn_is_read_as_a_whole_without_its_clients_template_and_by_paragraph() -> None:
    others = [f"You are the desk of ACME. Be polite. {ticket(number)} Answer in one word." for number in range(4)]
    text = f"You are the desk of ACME. Be polite. {ticket(9)} Answer in one word."
    head, tail = shared(text, others, 3)
    assert text[head : len(text) - tail] == "Dora from Porto cannot log in as user 241."
    assert shared(text, others[:2], 3) == (0, 0) == shared("How many are left?", ["How many are right?"] * 3, 3)
    assert shared(text, [text] * 3, 3) == (0, 0), "a turn that is all habit has nothing else to be read by"
    mail = f"Dear all,\n\n{ticket(9)}\n\nMany thanks in advance for your help, Maria"
    read = [mail[first:last] for first, last in readings(mail)]
    assert read[0] == mail and ticket(9) in read and "Dear all," not in read
    assert readings("One line.") == [(0, 9)] and len(readings("a b c d e f\n\n" * 50)) <= 7
