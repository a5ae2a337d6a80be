"""A memory is its content: the same experience is one memory, and only reasoning is worth keeping."""

import pytest

from mage_es.engine.rules.new_memories import capped, memory_id, reasoning_of

CONTENT = {
    "outcome": "success_memory",
    "kind": "",
    "task_type": "t",
    "question": "How many?",
    "answer": "4",
    "reasoning": "2 + 2 = 4",
}


def test_the_id_ignores_how_a_question_is_spaced_and_capitalised() -> None:
    assert memory_id(**CONTENT) == memory_id(**CONTENT | {"question": "  how   MANY? "})


def test_every_part_of_the_content_changes_the_id() -> None:
    ids = {memory_id(**CONTENT)} | {memory_id(**CONTENT | {name: "other"}) for name in CONTENT}
    assert len(ids) == 1 + len(CONTENT)


def test_reasoning_is_the_reply_without_its_answer_line() -> None:
    number, label = (
        'Finish with a line such as "#### <1467>".',
        'Finish with one of these lines: "Answer: <teal>", "Answer: <slate>".',
    )
    assert reasoning_of("2 + 2 = 4\n#### 4\n", "4", number) == "2 + 2 = 4"
    assert reasoning_of("2 + 2 = 4\n4", "4", number) == "2 + 2 = 4"
    assert reasoning_of("The badge decides.\n\n**Answer: teal**", "teal", label) == "The badge decides."
    assert {reasoning_of(reply, "4", number) for reply in ("#### 4", "4", "")} == {""}
    assert reasoning_of("Answer: teal", "teal", label) == ""
    block = 'Finish with the query: "```sql\n<query>\n```".'
    assert reasoning_of("Count all.\n```sql\nSELECT 1\nFROM t;\n```", "SELECT 1\nFROM t;", block) == "Count all."


@pytest.mark.paper("appendix, success memories")
def test_a_long_reasoning_is_cut_at_a_line_border() -> None:
    assert capped("one\ntwo\nthree", 8) == "one\ntwo"
    assert capped("one\ntwo", 7) == "one\ntwo"
    assert capped("abcdef", 4) == "abcd"
