"""What gives an answer away beside its text is found and named, and what is only part of the question is not."""

import base64
import codecs
import hashlib
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mage_es.engine.auditing.theorems.target_leaks import Disclosure, disclosures, target_leaks, warning
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.tasks.benchmark import given_tasks
from mage_es.engine.config import Config
from mage_es.engine.run.questions import all_questions
from mage_es.engine.run.world import divide
from tests.counting import calls_of
from tests.evolutions.test_nine import DATA

Row = Mapping[str, Any]
LABELS = ("billing", "delivery", "returns", "other")
WORDS = ("river", "lamp", "stone", "cloud", "table", "green", "quiet", "paper", "engine", "window", "salt", "copper")


def words(draw: random.Random, count: int = 8) -> str:
    return " ".join(draw.choices(WORDS, k=count))


def labelled(draw: random.Random, k: int, **more: Callable[[str], str]) -> Row:
    label = draw.choice(LABELS)
    return {"question": f"{words(draw)} {k}", "answer": label, **{name: of(label) for name, of in more.items()}}


def found(rows: list[Row], name: str = "mine") -> list[Disclosure]:
    tasks = given_tasks(name, rows)
    splits = divide(Config(benchmark=name, held_out=1000), tasks)
    return disclosures({q.id: q for q in all_questions(tasks)}, splits, task_types=tasks.task_type_source)


def leaks(rows: list[Row], name: str = "mine") -> set[str]:
    return {told.what for told in found(rows, name) if told.is_leak}


@pytest.mark.parametrize("count", [40, 200])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_type_that_is_the_label_is_named_also_where_some_are_wrong_and_tasks_are_few(
    count: int, noise: float
) -> None:
    draw = random.Random(count)

    def noisy(label: str) -> str:
        return draw.choice(LABELS) if draw.random() < noise else label

    rows = [labelled(draw, k, task_type=noisy) for k in range(count)]
    assert leaks(rows) == {"task type"}
    assert leaks(rows, "mine?columns=task_type:") == set()


def test_a_type_that_holds_the_answer_is_named_in_a_small_file_too_whose_texts_suggest_it() -> None:
    things = dict(zip(LABELS, ("invoice", "parcel", "refund", "door"), strict=True))
    rows = [
        {"question": f"My {things[label]} is {word}, please help.", "answer": label, "task_type": label}
        for label in LABELS
        for word in WORDS
    ]
    assert leaks(rows) == {"task type, which holds it"}
    [told] = [each for each in found(rows) if each.is_leak]
    assert "--columns task_type=" in warning(told, is_own=True) and "against that of another question" in str(told)


def test_types_that_say_nothing_of_the_label_are_no_leak() -> None:
    draw = random.Random(1)
    for _ in range(5):
        assert leaks([{**labelled(draw, k), "task_type": draw.choice("xyz")} for k in range(200)]) == set()


def test_long_texts_cost_nothing_where_neither_types_nor_ids_give_anything_away() -> None:
    def taken(length: int) -> int:
        def name(k: int) -> str:
            return "".join(chr(ord("a") + int(digit)) for digit in f"{k:08}")

        rows = [
            {"id": name(k), "question": " ".join(name(length * k + place) for place in range(length)), "answer": "yes"}
            for k in range(100)
        ]
        tasks, config = given_tasks("mine", rows), Config(benchmark="mine", held_out=1000)
        splits = divide(config, tasks)
        return calls_of(lambda: target_leaks(config, tasks, splits))

    assert taken(200) < 1.5 * taken(10)


def mixed(draw: random.Random, k: int) -> Row:
    kind = draw.choice(("sums", "capitals", "facts", "choices"))
    asked = {
        "sums": (f"What is {k} plus {draw.randint(1, 30)}, less {k}?", str(draw.randint(2, 9))),
        "capitals": (f"Which city of {words(draw, 2)} is number {k}?", draw.choice(("Paris", "Rome", "Oslo"))),
        "facts": (f"Is it true that {words(draw)} {k}?", draw.choice(("yes", "yes", "no"))),
        "choices": (f"{words(draw)} {k}?\nA. {words(draw, 1)}\nB. {words(draw, 1)}", draw.choice("AB")),
    }
    return {"question": asked[kind][0], "answer": asked[kind][1], "kind": kind}


@pytest.mark.parametrize("seed", range(4))
def test_a_file_of_several_kinds_of_task_has_no_leak_because_their_answers_differ(seed: int) -> None:
    draw = random.Random(seed)
    assert leaks([mixed(draw, k) for k in range(300)], "mine?columns=task_type:kind") == set()


def test_an_id_that_is_named_by_the_label_or_holds_it_is_named() -> None:
    draw = random.Random(2)
    prefixed = [{**labelled(draw, k, id=lambda a: a[0]), "k": k} for k in range(100)]
    prefixed = [{**row, "id": f"{row['id']}x-{row['k']}"} for row in prefixed]
    assert leaks(prefixed) == {"id"}
    names = [f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(100)]
    holding = [{"question": f"{words(draw)}?", "answer": name, "id": f"q{k}-{name}"} for k, name in enumerate(names)]
    assert leaks(holding) == {"id, which holds it"}
    assert leaks(holding, "mine?columns=id:") == set()


@pytest.mark.parametrize("field", ["id", "task_type"])
@pytest.mark.parametrize(
    "code",
    [
        lambda answer: answer[::-1],
        lambda answer: codecs.encode(answer, "rot13"),
        lambda answer: base64.b64encode(answer.encode()).decode().rstrip("="),
        lambda answer: answer.encode().hex(),
        lambda answer: hashlib.sha256(answer.encode()).hexdigest()[:8],
    ],
)
def test_answers_that_all_differ_are_found_in_a_type_or_an_id_that_holds_them_in_a_common_code(
    field: str, code: Callable[[str], str]
) -> None:
    draw = random.Random(6)
    rows = [{"question": f"{words(draw)} {k}", "answer": f"{draw.choice(WORDS)} {k + 1000}"} for k in range(60)]
    coded = [{**row, field: f"{code(row['answer'])}~{k}"} for k, row in enumerate(rows)]
    assert leaks(coded) == {f"{field.replace('_', ' ')}, which holds it"}
    turned = [{**row, field: coded[k - 1][field]} for k, row in enumerate(rows)]
    assert leaks(turned) == set()


def test_ids_that_are_places_and_numbers_that_meet_by_chance_are_no_leak() -> None:
    draw = random.Random(3)
    rows = [{"question": f"How many {words(draw)}?", "answer": str(k + 1)} for k in range(100)]
    assert leaks(rows) == set()
    assert leaks([{**row, "answer": str(draw.randint(1, 9)), "id": f"q-{k}"} for k, row in enumerate(rows)]) == set()


def test_an_exam_whose_answers_are_all_the_same_is_named_where_those_that_are_learned_are_not() -> None:
    draw = random.Random(4)
    rows = [{**labelled(draw, k), "split": "train"} for k in range(100)]
    held = [{"question": f"{words(draw)} {k}", "answer": "billing", "split": "test"} for k in range(100, 160)]
    assert leaks([*rows, *held]) == {"split"}
    tasks, config = given_tasks("mine", [*rows, *held]), Config(benchmark="mine")
    [said] = target_leaks(config, tasks, divide(config, tasks))
    assert "The split gives the answer away" in said and "as 'billing'" in said and "Divide the tasks" in said
    balanced = [{**row, "answer": LABELS[k % 2]} for k, row in enumerate(held)]
    assert leaks([*rows, *balanced]) == set()


@pytest.mark.parametrize("place", ["instruction=So: ", f"labels={','.join(LABELS)},"])
def test_an_instruction_or_a_label_that_quotes_a_question_of_the_exam_is_named_before_the_first_call(
    place: str,
) -> None:
    draw, config = random.Random(5), Config(benchmark="mine")
    rows = [{**labelled(draw, k), "question": f"{words(draw)} {words(draw)} {k}"} for k in range(100)]
    tasks = given_tasks("mine", rows)
    quoted = {q.id: q for q in all_questions(tasks)}[divide(config, tasks).held_out[0]]
    tasks = given_tasks(f"mine?{place}{quoted.question} Answer: {quoted.gold}", rows)
    [said] = target_leaks(config, tasks, divide(config, tasks))
    assert "Instruction or labels hold a question of the split held-out" in said


REAL = ["finqa", "gsm8k", "hotpotqa", "medqa", "realmath", "webqa", "stbench", "webshop-100", "crafter"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wordmath", "truthworld", "workshop", *REAL])
def test_no_benchmark_and_no_world_gives_its_answers_away(name: str) -> None:
    if name in REAL and not DATA.is_dir():
        pytest.skip(f"no records in {DATA}; set MAGE_ES_DATA")
    benchmark = open_benchmark(name, seed=42, data_dir=DATA)
    config = Config(benchmark=name, held_out=500)
    assert target_leaks(config, benchmark, divide(config, benchmark)) == ()


def test_the_subtasks_of_stbench_are_exempt_because_it_says_so() -> None:
    if not DATA.is_dir():
        pytest.skip(f"no records in {DATA}; set MAGE_ES_DATA")
    assert open_benchmark("stbench", seed=42, data_dir=DATA).is_type_asked is True  # type: ignore[attr-defined]


def test_a_leak_says_what_was_found_and_what_to_do() -> None:
    draw = random.Random(6)
    tasks = given_tasks("mine", [labelled(draw, k, task_type=str.upper) for k in range(200)])
    config = Config(benchmark="mine")
    [said] = target_leaks(config, tasks, divide(config, tasks))
    assert "The task type gives the answer away: by what" in said and "'RETURNS' for 'returns'" in said
    assert said.endswith("Begin a run without it: --columns task_type=")
    assert target_leaks(Config(benchmark="mine", task_types="input"), tasks, divide(config, tasks)) == ()
