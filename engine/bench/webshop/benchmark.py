"""The benchmarks `webshop-100` and `webshop-1000`: what to buy in the first 100 or all products of the small catalogue.

    -rich       the same goals, shown in rich mode: a line for each piece, and marks on what can be or was clicked
    -by-index   the same goals, divided by their number alone, as upstream and RetroAgent do
    -human      (of 1,000 only) the goals that people wrote, which are a handful, half of them the test

By default goals are divided by product, so no product has goals in both splits: whole products are drawn for the test
split until it is large enough. The task type is the number of options in the instruction, because the product's
category would give away a part of the gold answer.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple, get_args

from mage_es.engine.bench.webshop import goals as goal_making
from mage_es.engine.bench.webshop.catalogue import load_catalogue
from mage_es.engine.bench.webshop.files import LICENCE, read_files
from mage_es.engine.bench.webshop.goals import Goal
from mage_es.engine.bench.webshop.nouns import Nouns, installed_nouns
from mage_es.engine.bench.webshop.pages import Mode
from mage_es.engine.bench.webshop.reference import solution
from mage_es.engine.bench.webshop.reward import library
from mage_es.engine.bench.webshop.shop import open_store, parse_action
from mage_es.engine.bench.webshop.shopping import STEPS, Shopping, purchase
from mage_es.engine.benchmarks.measuring import Measured, Prediction, PredictionForm, means, text_of
from mage_es.engine.seams.benchmark import Question, Split, TaskTypeSource, Verdict
from mage_es.engine.seams.playing import play_actions

INFO = (
    "r_type", "r_att", "w_att", "query_match", "category_match", "title_score", "r_option", "w_option", "r_price",
    "w_price",
)  # fmt: skip
"""Upstream's info fields, metrics of a purchase besides its reward; not counted if nothing was bought."""


MOST_OPTIONS = 3
"""Instructions that name at least this many options share one task type."""


class ShopSetting(NamedTuple):
    """`num_products` counts entries of the items file (None: all)."""

    name: str
    num_products: int | None
    test_goals: int


PAPER = ShopSetting("webshop-100", 100, 100)
"""The paper's catalogue of one hundred products."""
RETROAGENT = ShopSetting("webshop-1000", None, 500)
"""The setting of RetroAgent's released code: the whole file of 1,000 products, 500 test goals."""
HUMAN = ShopSetting("webshop-1000-human", None, 4)
"""Goals that people wrote for the whole file: thirteen upstream, four of them for the test. The first 100 products have
only one."""


class WebShop:
    """Goals of a catalogue as episodes.

    [section 4, WebShop, the catalogue] Both RetroAgent's hundred products and the thousand that its code uses. Hashes
    of the files, the seed and the tagger of nouns are in the run's first event.
    """

    licence = LICENCE
    task_type_source: TaskTypeSource = "metadata"
    answer_format = (
        'Finish with a line such as "Action: <search[red cotton shirt]>" or "Action: <click[back to search]>", '
        "with words of your own, or one of the valid actions."
    )

    predictions: PredictionForm = "actions"

    def __init__(
        self,
        seed: int,
        data_dir: Path | None,
        *,
        preset: ShopSetting = PAPER,
        goals: Literal["synthetic", "human"] = "synthetic",
        by_product: bool = True,
        mode: Mode = "text",
        steps: int = STEPS,
        nouns: Nouns | None = None,
    ) -> None:
        """Read the files of `data_dir/webshop` and make the goals; `seed` drives effective prices and price bounds.

        `goals`: generated from attributes and options, or written by people. `by_product`: all goals of a product are
        in one split. `nouns` finds the nouns of a name; None: spaCy if a model is installed, else the rule. Raises
        `PrerequisiteError`: a file or a library is missing, or a file is malformed.
        """
        self.name = preset.name
        self._mode, self._steps = mode, steps
        library()  # now, not at the first purchase
        nouns = nouns or installed_nouns()
        files, stream = read_files(self.name, data_dir, with_human=goals == "human"), Random(seed)
        catalogue = load_catalogue(files.items, files.instructions, num_products=preset.num_products, stream=stream)
        if goals == "synthetic":
            made = goal_making.synthetic_goals(catalogue, files.instructions, stream)
        else:
            made = goal_making.human_goals(catalogue, files.human, stream)
        self.store = open_store(catalogue, nouns=nouns.find)
        self.goals: Sequence[Goal] = goal_making.shuffled_goals(made, stream)
        self._test = test_places(self.goals, preset.test_goals, stream=stream if by_product else None)
        shown = f"{mode} mode, {steps} steps"
        made_by = f"{goals} goals, seed {seed}, {'by product' if by_product else 'by index'}"
        origins = (*files.hashes, preset.name, made_by, shown, f"nouns by {nouns.name}")
        self.data_sha256 = hashlib.sha256("\n".join(origins).encode()).hexdigest()
        self._made: dict[Split, tuple[Question, ...]] = {}

    def questions(self, split: Split) -> Sequence[Question]:
        """Return the goals of a split in the order of upstream's shuffle."""
        if split not in self._made:
            places = [place for place in range(len(self.goals)) if (place in self._test) == (split == "test")]
            self._made[split] = tuple(self._question(place, split) for place in places)
        return self._made[split]

    @property
    def modes(self) -> tuple[str, ...]:
        return get_args(Mode)

    def environment(self, question: Question, *, mode: Mode | None = None) -> Shopping:
        """`mode` overrides how the shop is shown (ReAct's is `react`)."""
        return self._episode(question, mode=mode)

    def score(self, question: Question, reply: str) -> Verdict:
        return play_actions(self.environment(question), reply)

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Return the reward, success and info fields for a list of actions, or for a text with one per line.

        With `strict` each must be exactly an action, and the reward is upstream's to the letter.
        """
        environment = self._episode(question, strict=strict)
        environment.reset()
        value = prediction.value
        actions = value if isinstance(value, list) else prediction.text.splitlines()
        for said in filter(None, (text_of(action).strip() for action in actions)):
            read = parse_action(said) if strict else environment.parse(said)
            if environment.step(str(read) if read else None).done:
                break
        reward = environment.reward
        info = reward.info if reward else {}
        metrics: dict[str, float | None] = {
            "reward": environment.score(),
            "success": float(environment.score() == 1.0),
            **{name: float(info[name]) if name in info else None for name in INFO},
        }
        return Measured(environment.result(), metrics)

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """The task score is 100 times the mean reward."""
        mean = means(measured)
        return {"task_score": 100 * mean["reward"], **mean} if mean else {}

    def _episode(self, question: Question, *, mode: Mode | None = None, strict: bool = False) -> Shopping:
        goal = self.goals[int(question.meta["goal"])]
        return Shopping(self.store, goal, mode=mode or self._mode, steps=self._steps, strict=strict)

    def _question(self, place: int, split: Split) -> Question:
        goal = self.goals[place]
        return Question(
            id=f"{self.name}-{place:04d}",
            benchmark=self.name,
            split=split,
            task_type=task_type_of(goal),
            question=goal.text,
            gold=purchase(goal.product.asin, goal.options),
            solution=solution(self.store, goal) if split == "evolution" else "",
            meta={"goal": str(place)},
        )


def task_type_of(goal: Goal) -> str:
    """`webshop_3_options` is for three or more. [section 4, WebShop, task types]"""
    named = min(MOST_OPTIONS, sum(bool(option.name) for option in goal.options))
    return f"webshop_{named}_option{'s' if named > 1 else ''}" if named else "webshop_plain"


def test_places(goals: Sequence[Goal], size: int, *, stream: Random | None) -> frozenset[int]:
    """Return the positions of the test goals: the first ones or, if a stream is given, the goals of whole products that
    it draws.

    [section 4, WebShop, goals] No product has goals on both sides. The test has 100 of 352 goals, or 500 of 4,987.
    """
    if stream is None:
        return frozenset(range(min(size, len(goals))))
    by_product: dict[str, list[int]] = {}
    for place, goal in enumerate(goals):
        by_product.setdefault(goal.product.asin, []).append(place)
    drawn = sorted(by_product)
    stream.shuffle(drawn)
    chosen: list[int] = []
    for asin in drawn:
        if len(chosen) + len(by_product[asin]) <= size:
            chosen += by_product[asin]
    return frozenset(chosen)


webshop_100 = partial(WebShop, preset=PAPER)
webshop_100_rich = partial(WebShop, preset=PAPER._replace(name="webshop-100-rich"), mode="rich")
webshop_100_by_index = partial(WebShop, preset=PAPER._replace(name="webshop-100-by-index"), by_product=False)
webshop_1000 = partial(WebShop, preset=RETROAGENT)
webshop_1000_rich = partial(WebShop, preset=RETROAGENT._replace(name="webshop-1000-rich"), mode="rich")
webshop_1000_by_index = partial(WebShop, preset=RETROAGENT._replace(name="webshop-1000-by-index"), by_product=False)
webshop_1000_human = partial(WebShop, preset=HUMAN, goals="human")
