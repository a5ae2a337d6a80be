"""Replies that break parsers, and every benchmark's scorer to try them on."""

import json
from collections.abc import Callable, Mapping
from functools import partial

from mage_es.engine.bench.crafter.replies import action_in
from mage_es.engine.bench.dataset import Definition
from mage_es.engine.bench.finqa.benchmark import FINQA
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.realmath.benchmark import REALMATH
from mage_es.engine.bench.stbench.benchmark import STBENCH
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.bench.webshop.shop import parse_action
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.benchmarks.tasks.columns import question_of
from mage_es.engine.benchmarks.tasks.scorers import scorer_of
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.playing import named_action

OPTIONS = {"A": "Rome", "B": "Paris in France", "C": "Aspirin 100 mg daily", "D": "A drug"}
PLACES = "There are options: (1) Park, (2) Rest area, (3) [1, 2, 3]. Answer: Option ("
TABLE = "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t SELECT i, 'x' FROM range(1000) r(i);"
_FINQA = {"table": '[["", "2019"], ["x", "1"]]', "program": "subtract(5, 3), divide(#0, 3)"}
_HOTPOT = {"supporting_facts": "[]", "facts_beyond": "[]"}


def _asked(
    definition: Definition, gold: str, question: str = "Which city?", **meta: str
) -> tuple[Definition, Question]:
    return definition, Question(
        id="x", benchmark=definition.name, split="test", task_type="", question=question, gold=gold, meta=meta
    )


def _stbench(kind: str, gold: str, label: object) -> tuple[Definition, Question]:
    return _asked(STBENCH, gold, PLACES, kind=kind, task="x", file="x", answer=json.dumps(label))


ASKED: Mapping[str, tuple[Definition, Question]] = {
    "gsm8k": _asked(GSM8K, "18"),
    "medqa": _asked(MEDQA, "B", options=json.dumps(OPTIONS), answer=OPTIONS["B"]),
    "webqa": _asked(WEBQA, "Paris", answers='["Paris", "3/4/1841", "Red, white and blue"]', url=""),
    "hotpotqa": _asked(HOTPOTQA, "John Fitzgerald Kennedy", **_HOTPOT),
    "hotpotqa, a list": _asked(HOTPOTQA, "1841, 1842 and Red (RED)", **_HOTPOT),
    "finqa": _asked(FINQA, "0.5357", **_FINQA),
    "realmath": _asked(REALMATH, "$n^2+\\frac{1}{2}$"),
    "realmath, a set": _asked(REALMATH, "$\\{1, 2, \\pi\\}$"),
    "stbench, an option": _stbench("option", "1", 1),
    "stbench, yes or no": _stbench("yesno", "Yes", "Yes"),
    "stbench, an anomaly": _stbench("anomaly", "normal", "normal"),
    "stbench, a vehicle": _stbench("vehicle", "1", 1),
    "stbench, a point": _stbench("point", "[108.9, 34.2]", [108.9, 34.2]),
    "stbench, a flow": _stbench("flow", "[1, 2, 3, 4, 5, 6]", [1, 2, 3, 4, 5, 6]),
}


def _own(scorer: str, gold: str, labels: tuple[str, ...] = ()) -> Callable[[str], Verdict]:
    more = {"choice": {"options": OPTIONS}, "sql": {"schema": TABLE}}.get(scorer, {})
    asked = question_of({"question": "?", "answer": gold, **more}, {}, position=0, split="test")
    return partial(scorer_of(scorer, labels).verdict, asked)


def longest_word(reply: str, task: Question) -> float:
    """Score as a user's function might that expects something of each reply: 0 divides, and 2 is no score."""
    return 2 / len(max(reply.split(), key=len))


VERDICTS: Mapping[str, Callable[[str], Verdict]] = {
    **{name: partial(definition.verdict, question) for name, (definition, question) in ASKED.items()},
    **{f"own, {name}": _own(name, "18") for name in ("exact", "contains", "f1", "number", "judge")},
    "own, choice": _own("choice", "B"),
    "own, labels": _own("exact", "Paris", ("Paris", "not Paris")),
    "own, regex": _own("regex", "(a|a)*b|(.*.*.*x)+"),
    "own, json": _own("json", '{"a": [1, 2.5]}'),
    "own, sql": _own("sql", "SELECT a FROM t"),
    "own, python": _own("python", "assert f(2) == 4"),
    "own, a function": _own("tests.engine.bench.hostile:longest_word", "x"),
}
"""The verdict on a reply, by whose it is."""


def measured(name: str, reply: str, *, strict: bool) -> object:
    definition, question = ASKED[name]
    return definition.measure(question, Prediction("x", reply), strict)


READERS: Mapping[str, Callable[[str], object]] = {
    "crafter": action_in,
    "webshop": parse_action,
    "any environment": named_action,
}
"""What reads an action off a reply."""

NASTY = tuple(
    r"""\boxed{ \boxed{1} \text{ \[ \( \) \] { } ( ) [ ] $ $$ \$ " ' ` * ** _ # #### Answer: the_answer_is_ A:_ Finish[
    <answer> </answer> <think> </think> [THINK] {"answer":" 'answer':_ 1 1, 1._ -1 1/2 1e9 1,000 . , ; : _ \ \frac{ ^ _{
    \frac12 \section*{Final_Answer} [FINAL_ANSWER] = + - \pm_ \sum_{i=1}^{9}_ a a_ (A) [A] or_ and_ not_ option_(
    yes_ no_ the_answer_for_a_ é if_the_answer_is_ -_ 1._ Question:_ User:_ <|im_end|> <|channel|> normal_ (1.5,_2.5)
    John_F_ J._ March_4,_ 1841-01-02 % million_ add(1,_2),_ ) divide(#0,_3),_ can't_ ACTION:_ <|ACTION|> click[
    \zeta( e^ 是 \left( ! answer_is_ ``` ```sql_SELECT_a_FROM_t ```python_def_f(x): {"a": [1,[ "\u select_(""".replace(
        "\n", " "
    ).split()
)
NASTY = (*(piece.replace("_", " ") for piece in NASTY), "_", "\n", "\n\n", "\t", "\u202f", "\x00", " " * 8)
"""Pieces that open what they do not close, or that many rules begin with."""
