"""Task sets by private rules: what any of them promises."""

from collections import Counter, defaultdict
from math import log, sqrt

import pytest

from mage_es.engine.auditing.theorems.target_leaks import target_leaks
from mage_es.engine.benchmarks.registry import names, open_benchmark, own_defaults, recorded_name, title
from mage_es.engine.config import Config
from mage_es.engine.players.worlds.private.benchmark import KINDS, SIZES, PrivateSet, SeededName, generate, recorded
from mage_es.engine.rules.splits import make_splits
from mage_es.engine.seams.benchmark import SPLITS, Question, traits_of
from mage_es.events.errors import UsageError

LEVELS = [f"{name}?difficulty={level}" for name in KINDS for level in (1, 2, 3)]
LABELLED = [name for name in LEVELS if PrivateSet(name, 1).labels]
SEEDS = (1, 2, 3)


def golds(questions: list[Question]) -> list[str]:
    return [question.gold for question in questions]


def test_each_kind_is_a_benchmark_by_name() -> None:
    assert {name for name in names() if name.startswith("private-")} == KINDS.keys()


@pytest.mark.parametrize("name", LEVELS)
def test_the_same_seed_gives_the_same_questions_and_another_seed_others(name: str) -> None:
    again = [generate(SeededName(recorded(name), 1), "test", index) for index in range(20)]
    assert again == [generate(SeededName(recorded(name), 1), "test", index) for index in range(20)]
    assert again != [generate(SeededName(recorded(name), 2), "test", index) for index in range(20)]
    assert len({PrivateSet(name, seed).data_sha256 for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("name", LEVELS)
def test_no_question_is_near_one_of_another_split(name: str) -> None:
    for seed in SEEDS:
        opened = open_benchmark(name, seed=seed)
        evolution, test = (opened.questions(split) for split in SPLITS)
        assert (len(evolution), len(test)) == (SIZES["evolution"], SIZES["test"]) == (600, 200)
        splits = make_splits(evolution, test, seed=seed, anchors=90, held_out=200)
        assert (len(splits.evolution), len(splits.anchors), len(splits.held_out)) == (510, 90, 200), splits.repeats


@pytest.mark.parametrize("name", LEVELS)
def test_the_right_answer_in_the_form_that_is_asked_for_is_right_and_another_question_s_is_not(name: str) -> None:
    opened = PrivateSet(name, 1)
    questions = opened.questions("test")
    for question in questions:
        other = next(each for each in questions if each.gold != question.gold)
        form = "#### {}" if "####" in opened.answer_format else "Answer: {}"
        assert opened.score(question, form.format(question.gold)).strict
        assert opened.score(question, f"I think it is so.\n**{form.format(question.gold)}**.").correct
        assert not opened.score(question, form.format(other.gold)).correct
        assert not opened.score(question, "").correct


@pytest.mark.parametrize("name", LEVELS)
def test_nothing_beside_the_text_gives_an_answer_away(name: str) -> None:
    opened = PrivateSet(name, 1)
    splits = make_splits(*map(opened.questions, SPLITS), seed=1, anchors=90, held_out=200)
    assert target_leaks(Config(benchmark=name, seed=1), opened, splits) == ()


@pytest.mark.parametrize("name", LABELLED)
def test_the_commonest_answer_is_right_about_as_often_as_chance(name: str) -> None:
    for seed in SEEDS:
        opened = PrivateSet(name, seed)
        evolution, test = (golds(list(opened.questions(split))) for split in SPLITS)
        (common, _), *_ = Counter(gold for gold in evolution if gold in test).most_common()
        assert test.count(common) <= near_chance(len(test), len(set(test)))


def test_a_number_or_a_code_is_hardly_ever_that_of_another_question() -> None:
    for name in set(LEVELS) - set(LABELLED):
        test = golds(list(PrivateSet(name, 1).questions("test")))
        assert Counter(test).most_common(1)[0][1] <= 0.05 * len(test)


@pytest.mark.parametrize("name", LABELLED)
def test_words_that_went_with_a_label_in_other_sets_do_not_help(name: str) -> None:
    """What a model could have read before are other sets: their labels have the same names, and other rules."""
    elsewhere = [question for seed in range(10, 20) for question in PrivateSet(name, seed).questions("evolution")]
    for seed in SEEDS:
        opened = PrivateSet(name, seed)
        test = list(opened.questions("test"))
        here = {*golds(test)}
        guessed = naive_bayes([question for question in elsewhere if question.gold in here], test)
        right = sum(guess == question.gold for guess, question in zip(guessed, test, strict=True))
        assert right <= near_chance(len(test), len(here))


def near_chance(count: int, labels: int) -> float:
    """Return how many of `count` guesses are right by chance, and three standard deviations more."""
    return count / labels + 3 * sqrt(count / labels * (1 - 1 / labels))


def naive_bayes(known: list[Question], asked: list[Question]) -> list[str]:
    """Return the label that the words of each question suggest, learned from others."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for question in known:
        counted[question.gold].update(words(question))
    vocabulary = len({word for counts in counted.values() for word in counts})

    def weight(label: str, question: Question) -> float:
        counts, total = counted[label], counted[label].total()
        return sum(log((counts[word] + 1) / (total + vocabulary)) for word in words(question))

    return [max(sorted(counted), key=lambda label: weight(label, question)) for question in asked]


def words(question: Question) -> set[str]:
    return {word.strip(".,:") for word in question.question.casefold().split()}


def test_words_do_help_where_the_rule_can_be_learned() -> None:
    """The guesser of the test above is no straw man: on its own set it learns a rule of one attribute."""
    opened = PrivateSet("private-labels", 1)
    evolution, test = (list(opened.questions(split)) for split in SPLITS)
    guessed = naive_bayes(evolution, test)
    assert sum(guess == question.gold for guess, question in zip(guessed, test, strict=True)) >= 0.95 * len(test)


def test_a_name_is_recorded_with_all_its_options_and_shown_without() -> None:
    assert recorded_name("private-labels") == "private-labels?labels=6&products=1&wordings=1&asides=0"
    assert recorded_name("private-labels?wordings=6&difficulty=1") == recorded_name("private-labels?difficulty=2")
    assert recorded_name(recorded_name("private-pairs?labels=5")) == recorded_name("private-pairs?labels=5")
    assert title("private-labels?difficulty=2") == "private-labels"
    assert own_defaults("private-labels?labels=3")["held_out"] == 60


def test_options_that_a_set_cannot_have_are_refused_by_name() -> None:
    refused = {
        "private-labels?label=4": r"no option 'label'.*labels",
        "private-labels?labels=99": "labels is 2 to 12, and not '99'",
        "private-labels?difficulty=0": "difficulty is 1 to 3, and not '0'",
        "private-labels?labels": "not of the form private-labels",
        "private-labels/2": "no task set 'private-labels/2'",
    }
    for name, why in refused.items():
        with pytest.raises(UsageError, match=why):
            open_benchmark(name, seed=1)


def test_the_rules_know_what_is_asked_and_how_many_labels_there_are() -> None:
    traits = traits_of(PrivateSet("private-labels?labels=4", 1))
    assert (traits.labels, traits.task) == (4, "Say which team takes this ticket.")
