"""The two benchmarks on the real catalogue, and on a small one in files."""

import sys
from pathlib import Path
from random import Random

import msgspec
import pytest

from mage_es.engine.bench.webshop import reward, search
from mage_es.engine.bench.webshop.benchmark import PAPER, RETROAGENT, ShopSetting, WebShop, task_type_of, test_places
from mage_es.engine.bench.webshop.goals import Option
from mage_es.engine.bench.webshop.nouns import Nouns, nouns_by_rule
from mage_es.engine.bench.webshop.reference import solution
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.registry import names, open_benchmark
from mage_es.engine.rules.splits import make_splits
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.testing.benchmarks import check_benchmark
from mage_es.events.errors import PrerequisiteError
from tests.engine.bench.webshop.small import DATA, ENTRIES, INSTRUCTIONS, catalogue, goal, needs_data, write_files

test_places.__test__ = False  # type: ignore[attr-defined]
BY_RULE = Nouns("rule", nouns_by_rule)
SMALL = ShopSetting("webshop-100", None, 2)
PRODUCTS = {product.asin: product for product in catalogue().products}
LAMP = PRODUCTS["B000000115"]


@pytest.fixture(scope="module")
def paper() -> WebShop:
    """The paper's setting."""
    return WebShop(42, DATA, preset=PAPER, nouns=BY_RULE)


@pytest.fixture(scope="module")
def retroagent() -> WebShop:
    """RetroAgent's setting."""
    return WebShop(42, DATA, preset=RETROAGENT, nouns=BY_RULE)


def small(folder: Path) -> Path:
    instructions = {name: msgspec.to_builtins(entry) for name, entry in INSTRUCTIONS.items()}
    return write_files(folder, [msgspec.to_builtins(entry) for entry in ENTRIES], instructions)


def test_a_question_shows_the_instruction_and_keeps_the_answer(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, by_product=False, nouns=BY_RULE)
    evolution, test = benchmark.questions("evolution"), benchmark.questions("test")
    assert (len(evolution), len(test)) == (2, 2)
    assert [question.id for question in (*test, *evolution)] == [f"webshop-100-{at:04d}" for at in range(4)]
    question = evolution[0]
    wanted = benchmark.goals[2]
    assert question.question == wanted.text and question.task_type == "webshop_2_options"
    assert question.gold == f"B000000001 with color: {wanted.options[0].value}, size: {wanted.options[1].value}"
    assert not any(question.solution for question in test)
    assert benchmark.questions("evolution") is evolution


def test_the_reference_solution_says_what_playing_it_says(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, by_product=False, nouns=BY_RULE)
    question = benchmark.questions("evolution")[0]
    played = benchmark.environment(question)
    played.reset()
    for line in question.solution.splitlines():
        action, _, effect = line.partition("]: ")
        assert played.step(f"{action}]").effect == effect
    assert played.score() == 1.0


def test_a_goal_that_its_own_product_does_not_meet_is_not_said_to_be_met(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, nouns=BY_RULE)
    assert solution(benchmark.store, goal()).endswith("click[buy now]: Your score: 1")
    assert solution(benchmark.store, goal(price_upper=1.0)).endswith("click[buy now]: Your score: 0.75")


@pytest.mark.parametrize(
    ("change", "first", "second"),
    [
        ({}, "search[shirts with soft cotton with color: red, and size: s | m]: Page 1 (Total results: 2)", "b0000"),
        ({"text": "unheard of"}, "search[cotton shirt]: Page 1 (Total results: 2)", "click[b000000001]"),
        (
            {"text": "I need a plain lamp", "product": PRODUCTS["B000000115"]},
            "search[a plain lamp]: Page 1 (Total",
            "click[next >]",
        ),
    ],
)
def test_the_reference_solution_searches_in_the_words_of_the_instruction_else_by_title(
    tmp_path: Path, change: dict[str, object], first: str, second: str
) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, nouns=BY_RULE)
    lines = solution(benchmark.store, goal(**change)).splitlines()
    assert lines[0].startswith(first) and second in lines[1]


def test_an_episode_can_be_shown_as_react_shows_it(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, by_product=False, nouns=BY_RULE)
    question = benchmark.questions("test")[0]
    assert benchmark.environment(question, mode="react").reset().text.endswith("\n[Search]")
    assert benchmark.environment(question).reset().text.endswith(" [SEP] Search")


@pytest.mark.parametrize("name", ["rapidfuzz", "nltk", "regex"])
def test_a_library_that_is_missing_is_named_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    for cached in (reward.library, search.language):
        cached.cache_clear()
    with pytest.raises(PrerequisiteError, match=rf"{name}.*python -m pip install 'mage-es\[benchmarks\]'$"):
        WebShop(1, small(tmp_path), preset=SMALL, nouns=BY_RULE)


@pytest.mark.paper("section 4, WebShop, the catalogue")
def test_the_data_hash_follows_everything_that_decides_a_reward(tmp_path: Path) -> None:
    folder = small(tmp_path)
    plain = WebShop(1, folder, nouns=BY_RULE).data_sha256
    assert WebShop(1, folder, nouns=BY_RULE).data_sha256 == plain
    others = [
        WebShop(2, folder, nouns=BY_RULE),
        WebShop(1, folder, nouns=BY_RULE, preset=RETROAGENT),
        WebShop(1, folder, nouns=BY_RULE, by_product=False),
        WebShop(1, folder, nouns=BY_RULE, mode="rich"),
        WebShop(1, folder, nouns=BY_RULE, steps=20),
        WebShop(1, folder, nouns=Nouns("another", nouns_by_rule)),
    ]
    assert len({plain, *(other.data_sha256 for other in others)}) == 7


@pytest.mark.paper("section 4, WebShop, task types")
@pytest.mark.parametrize(
    ("options", "task_type"),
    [
        ((), "webshop_plain"),
        ((Option("", "red"),), "webshop_plain"),
        ((Option("color", "red"),), "webshop_1_option"),
        ((Option("a", "1"), Option("b", "2")), "webshop_2_options"),
        (tuple(Option(name, "1") for name in "abcd"), "webshop_3_options"),
    ],
)
def test_the_task_type_is_how_many_options_the_instruction_names(options: tuple[Option, ...], task_type: str) -> None:
    assert task_type_of(goal(options=options)) == task_type


@pytest.mark.paper("section 4, WebShop, goals")
def test_whole_products_are_drawn_for_the_test_and_those_that_do_not_fit_are_passed_over() -> None:
    goals = [goal(product=PRODUCTS["B000000001"]._replace(asin=name)) for name in "aaaaabbccd"]
    for seed in range(20):
        chosen = test_places(goals, 4, stream=Random(seed))
        tested = {goals[place].product.asin for place in chosen}
        assert "a" not in tested and len(chosen) <= 4
        assert chosen == {place for place, one in enumerate(goals) if one.product.asin in tested}
    assert test_places(goals, 3, stream=None) == {0, 1, 2}


def measured(benchmark: WebShop, question: Question, value: object, *, strict: bool = False) -> Measured:
    return benchmark.measure(question, Prediction(question.id, value), strict=strict)


def test_a_prediction_is_a_list_of_actions_or_a_text_with_one_on_each_line(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, by_product=False, nouns=BY_RULE)
    question = benchmark.questions("evolution")[0]
    actions = [line.partition("]: ")[0] + "]" for line in question.solution.splitlines()]
    whole = measured(benchmark, question, actions)
    assert whole == measured(benchmark, question, "\n".join(actions))
    assert whole.metrics["reward"] == whole.metrics["success"] == whole.metrics["r_option"] == 1.0
    part = measured(benchmark, question, [*actions[:-2], actions[-1]])
    assert (part.metrics["reward"], part.metrics["success"], part.metrics["r_option"]) == (0.75, 0.0, 0.5)
    spoken = [f"I think so. Action: {action}" for action in actions]
    assert measured(benchmark, question, [f"Well.\n{one}" for one in spoken], strict=True).metrics["reward"] == 0.0
    for value in ([], None, 7, "nonsense", [None, {}]):
        nothing = measured(benchmark, question, value)
        assert nothing.metrics["reward"] == nothing.metrics["success"] == 0.0 and nothing.metrics["r_type"] is None
        assert nothing.answer == "bought nothing"


def test_the_total_is_the_task_score_and_the_means_over_what_was_bought(tmp_path: Path) -> None:
    benchmark = WebShop(1, small(tmp_path), preset=SMALL, by_product=False, nouns=BY_RULE)
    question = benchmark.questions("evolution")[0]
    whole = measured(benchmark, question, question.solution.splitlines())
    total = benchmark.total([(question, whole), (question, measured(benchmark, question, []))])
    assert (total["task_score"], total["success"], total["r_type"]) == (50.0, 0.5, 1.0)
    assert benchmark.total([]) == {}


@pytest.mark.slow
@needs_data
def test_both_are_opened_by_name_and_keep_what_every_benchmark_promises(retroagent: WebShop) -> None:
    check_benchmark(lambda seed: open_benchmark("webshop-100", seed=seed, data_dir=DATA), 3, replies=60)
    opened = open_benchmark("webshop-1000", seed=42, data_dir=DATA)
    assert (opened.name, opened.data_sha256) == (retroagent.name, retroagent.data_sha256)


@pytest.mark.slow
@needs_data
def test_no_product_is_in_both_splits_and_few_goals_are_near_duplicates_across_them(
    paper: WebShop, retroagent: WebShop
) -> None:
    for benchmark, sizes in ((paper, (252, 100)), (retroagent, (4487, 500))):
        products = {
            split: {benchmark.goals[int(question.meta["goal"])].product.asin for question in benchmark.questions(split)}
            for split in ("evolution", "test")
        }
        assert not products["evolution"] & products["test"]
        evolution, test = benchmark.questions("evolution"), benchmark.questions("test")
        assert (len(evolution), len(test)) == sizes
        splits = make_splits(evolution, test, seed=42, anchors=30, held_out=100)
        assert len(splits.repeats) < 0.02 * len(evolution) and len(splits.held_out) == 100


@pytest.mark.slow
@pytest.mark.paper("section 4, WebShop, scores")
@needs_data
def test_every_goal_is_met_by_its_own_product_with_its_options(paper: WebShop, retroagent: WebShop) -> None:
    for benchmark, step in ((paper, 1), (retroagent, 7)):
        for question in benchmark.questions("evolution")[::step]:
            assert benchmark.score(question, question.solution).strict, question.id


@pytest.mark.slow
@pytest.mark.paper("section 4, WebShop, scores")
@needs_data
def test_to_the_letter_of_upstream_some_goals_are_out_of_reach(retroagent: WebShop) -> None:
    questions = retroagent.questions("evolution")[::11]
    literal = [measured(retroagent, q, q.solution.splitlines(), strict=False) for q in questions]
    assert all(one.metrics["success"] for one in literal)
    actions = [[line.partition("]: ")[0] + "]" for line in q.solution.splitlines()] for q in questions]
    strict = [
        measured(retroagent, q, done, strict=True).metrics["success"]
        for q, done in zip(questions, actions, strict=True)
    ]
    assert 0.02 < strict.count(0.0) / len(strict) < 0.2


@needs_data
def test_people_s_goals_can_be_played_as_well() -> None:
    benchmark = WebShop(42, DATA, preset=RETROAGENT, goals="human", by_product=False, nouns=BY_RULE)
    assert len(benchmark.goals) == 8 and len(benchmark.questions("test")) == 8
    assert {question.task_type for question in benchmark.questions("test")} == {"webshop_plain"}


VARIANTS = (
    "webshop-100-by-index",
    "webshop-100-rich",
    "webshop-1000-by-index",
    "webshop-1000-human",
    "webshop-1000-rich",
)


@pytest.mark.slow
@pytest.mark.paper("section 4, WebShop, goals")
@needs_data
@pytest.mark.parametrize("name", VARIANTS)
def test_an_episode_of_every_variant_is_played_by_its_reference_solution(name: str) -> None:
    benchmark = open_benchmark(name, seed=42, data_dir=DATA)
    assert isinstance(benchmark, WebShop) and benchmark.name == name and name in names()
    question = next(q for q in benchmark.questions("evolution") if "Your score: 1" in q.solution)
    assert question.id.startswith(f"{name}-") and question.benchmark == name
    episode = benchmark.environment(question)
    seen = [episode.reset().text]
    for line in question.solution.splitlines():
        action, _, effect = line.partition("]: ")
        done = episode.step(f"{action}]")
        assert done.effect == effect
        seen.append(done.observation.text)
    assert episode.score() == 1.0
    assert any("[button]" in page for page in seen) == name.endswith("-rich")
    assert any(" [SEP] " in page for page in seen) != name.endswith("-rich")


@pytest.mark.slow
@pytest.mark.paper("section 4, WebShop, goals")
@needs_data
def test_goals_by_index_are_upstreams_first_and_peoples_goals_are_divided_in_two(paper: WebShop) -> None:
    by_index = open_benchmark("webshop-1000-by-index", seed=42, data_dir=DATA)
    assert [q.id for q in by_index.questions("test")] == [f"webshop-1000-by-index-{place:04d}" for place in range(500)]
    human = open_benchmark("webshop-1000-human", seed=42, data_dir=DATA)
    assert [len(human.questions(split)) for split in ("evolution", "test")] == [4, 4]
    rich = open_benchmark("webshop-100-rich", seed=42, data_dir=DATA)
    told = [[(q.question, q.gold, q.split) for q in each.questions("test")] for each in (rich, paper)]
    assert told[0] == told[1]
    hashes = {open_benchmark(name, seed=42, data_dir=DATA).data_sha256 for name in VARIANTS}
    assert len(hashes) == len(VARIANTS)
