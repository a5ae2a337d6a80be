"""Which memories go into a prompt (Eq. 3): exact cosine, filtered by task type, with quotas per index.

Rules
    - An anchor's case is never shown to any anchor (rules/refit.py).
    - With `revisit_self = exclude` a question never gets a memory of itself. Such a memory is recognised by the
      question's id and, if the question has no context (so that its text is everything), also by its normalised text
      under another id.
    - A type strategy is matched by its type first. For the quarter of its type's questions that are nearest to it (as
      judged by the questions in memory), it goes before the corrections of single questions. In a run with a floor of
      its own (the paper's 0.55) it competes by its cosine, if that reaches the floor.
    - If a type has fewer memories in an index than a bundle takes, it borrows corrections and examples from the types
      that were merged into it. They come after its own. A retrieval recipe may require a least cosine of every memory.
    - Among the nearest cases, those that may have been solved by chance (`guess`, rules/new_memories.py) come last.
    - If a question was missed and later solved, only its correction is shown.
    - If a metric (rules/metric.py) or a regression (rules/regression.py) was learned from the cases, it ranks them.
      Floors are always cosines: if the cosine of the nearest case reaches the floor, all cases may be shown.
    - Where a metric may be learned, cases that are out of date (rules/drift.py) are never shown. Neither are cases that
      similar ones outvote, unless a regression ranks.
    - Cases of a client in doubt (rules/doubt.py) are shown only with that client's own questions. The same holds for a
      type strategy that names one of them as its case.
    - `nearest` has no quotas. It takes the K nearest cases of both indexes, and only one per question text. With
      `is_reasoned` it takes only cases that show how their answer was reached, or that are a reply which a client gave
      (rules/forms.py says when). If the question's type has fewer, the nearest cases of all other types follow: for a
      type about which little was learned, nothing else shows the form of an answer and what the data is about. In an
      episode they do not follow, because what was done elsewhere cannot be done here.
    - No arm takes more than K memories. `cascade` takes those of `balanced`. Its four parts (rules/cascade.py) come on
      top (appendix "Cascade-Retrieval Components") and are not memories of the two indexes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import merge
from itertools import chain, count, islice, takewhile
from operator import itemgetter, methodcaller
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.rules.doubt import doubted
from mage_es.engine.rules.drift import Since, since
from mage_es.engine.rules.metric import Metric, features, metric_of, outvoted, regression_for
from mage_es.engine.rules.new_memories import GUESS
from mage_es.engine.rules.own import normal_form, of_anchors
from mage_es.engine.rules.regression import (
    SEATS,
    TIE,
    CaseAnswers,
    Regression,
    answers_of,
    likeliest,
    words_of,
)
from mage_es.engine.seams.embedder import Vector
from mage_es.events.vocabulary import MemoryAppended, RetrievalRecipeAuthored
from mage_es.projections.memory import INDEXES, Index, Memory, MemoryRow
from mage_es.projections.slices import Birth, Slice, computed_of

_DIVERSE_POOL = 16  # candidates per index among which maximal marginal relevance chooses
_NEAR = 0.75  # share of its type's questions that a type strategy fits less well than those for which it is shown
_PARTS = 1_024  # parts of a slice; only the nearest row of each part is used to tell how near the best rows are
_RELEVANCE = 0.5
"""Weight of relevance against novelty in maximal marginal relevance (Carbonell and Goldstein, 1998)."""


class Hit(NamedTuple):
    memory_id: str
    similarity: float


class Query(NamedTuple):
    """The query: a unit vector, the question's type, id and text, and the length of its context (characters).

    The vector is the question's own, or that of the text that a retrieval recipe makes of it. The text is "" if the
    question has a context, since two with the same text may then differ. `merged` are the task types that were merged
    into its own, to borrow from; `others` are all whose cases may fill its bundle after these; `apart` are memories of
    cases that it must not get. `client` is who asks, "" if that is unknown; an anchor must not get cases of anchors.
    """

    vector: Vector
    task_type: str
    question_id: str
    question: str
    context_length: int
    merged: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()
    client: str = ""
    is_anchor: bool = False


class Terms(NamedTuple):
    """The run's retrieval constants: K, the long-context threshold, the strategy floor (0: each strategy's own), and
    whether to leave out the question's own memories.

    `least_similarity` is a retrieval recipe's, `floor` the least cosine for a memory of a case to be served (-1: no
    floor). `is_reasoned` is whether cases without reasoning are left out, `is_measured` whether a learned metric
    or regression, if any, ranks them, `is_labelled` whether right answers are labels.
    """

    bundle: int
    long_context: int
    strategy_floor: float
    exclude_self: bool
    least_similarity: float = -1.0
    floor: float = -1.0
    is_reasoned: bool = False
    is_measured: bool = False
    is_labelled: bool = False


class Bundle(NamedTuple):
    success: list[Hit]
    failure: list[Hit]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(hit.memory_id for hit in (*self.success, *self.failure))


Quotas = tuple[int, int]
"""How many success memories and how many failure memories a bundle takes."""
_Ranked = tuple[float, Birth, "Pool", int]
"""How near a row is, and when it was learned; the pool and its number there."""
_NEAREST_FIRST = itemgetter(0, 1)


class Pool:
    """A slice, the cosine of each of its rows, and the similarity by which they are ranked; also, as row numbers, best
    first: the type strategies that a query gets, and the other rows that it may get. Of the latter, at most `most` are
    looked up, one by one as needed; `eligible` yields them by any similarity."""

    def __init__(
        self,
        rows: Slice,
        cosine: Vector,
        similarity: Vector,
        strategies: Sequence[int],
        eligible: Callable[[Vector, NDArray[np.intp] | None], Iterator[int]],
        most: int,
        answered: tuple[CaseAnswers, NDArray[np.float64]] | None = None,
    ) -> None:
        """`answered` is, if a regression ranks, the answers of the rows, and what each is worth."""
        self.rows, self.cosine, self.similarity, self.strategies = rows, cosine, similarity, strategies
        self.answered = answered
        self._eligible, self._found = eligible, list[int]()
        self._rest = islice(eligible(similarity, None), most)

    def found(self) -> Iterator[int]:
        """Yield the rows that the query may get besides strategies; several may go through them at once."""
        for place in count():
            if place == len(self._found):
                if (row := next(self._rest, None)) is None:
                    return
                self._found.append(row)
            yield self._found[place]

    @cached_property
    def nearest(self) -> list[int]:
        """All of them: strategies first, and last what may have been solved by chance."""
        return [*self.strategies, *sorted(self.found(), key=lambda row: self.rows.kinds[row] == GUESS)]

    @cached_property
    def nearest_case(self) -> float:
        """The cosine of the nearest case, -1 if there is none."""
        rows = self.found() if self.similarity is self.cosine else self._eligible(self.cosine, None)
        return next((float(self.cosine[row]) for row in rows if is_case(self.rows, row)), -1.0)

    def by_cosine(self, among: NDArray[np.intp]) -> Iterator[int]:
        """Yield the rows among these that the query may get besides strategies, best first."""
        return self._eligible(self.cosine, among)

    def ranked(self, rows: Iterable[int], by: Vector) -> Iterator[_Ranked]:
        return ((float(by[row]), self.rows.births[row], self, row) for row in rows)


NEAREST = "nearest"
"""The arm without quotas."""
Find = Callable[[Pool, list[int], int], list[int]]
"""Given a pool and its nearest rows that may be shown, return at most this many row numbers, best first."""


class Candidates:
    """What both indexes have for a query, looked up once for all arms."""

    def __init__(self, query: Query, memory: Memory, terms: Terms) -> None:
        self.query, self._memory, self._terms = query, memory, terms
        self._pools: dict[tuple[Index, str], Pool] = {}
        self._searches: dict[Index, list[Pool]] = {}
        self._bundles: dict[tuple[Find, Quotas], Bundle] = {}

    def pool(self, index: Index, task_type: str = "") -> Pool:
        """Return what an index has for a task type, by default the query's own."""
        task_type = task_type or self.query.task_type
        if (index, task_type) not in self._pools:
            self._pools[index, task_type] = self._pool(self._memory.slice(index, task_type), task_type)
        return self._pools[index, task_type]

    def _pool(self, rows: Slice, task_type: str) -> Pool:
        memory, query, terms = self._memory, self.query, self._terms
        if not rows.ids:
            nothing = np.zeros(0, dtype=np.float32)
            return Pool(rows, nothing, nothing, (), lambda by, among: iter(()), 0)
        # Unit vectors, so this is the cosine.
        cosine = rows.vectors @ query.vector
        answered = self._answered(rows)
        similarity = self._similarity(rows, cosine, answered)
        in_doubt = doubted(memory, task_type).keys() - {query.client}
        strategies = list[int]()
        if not terms.strategy_floor and task_type == query.task_type:
            near = _strategies(rows, cosine, query, terms)
            strategies = [row for row in near if memory.row(rows.ids[row]).origin.by not in in_doubt]
        least = terms.least_similarity
        if task_type in query.others and similarity is cosine:
            # Of these types only cases are shown, and none below the floor: most have none near.
            least = max(least, terms.floor)
        most, may_get = max(_DIVERSE_POOL, terms.bundle), self._may_get(rows, task_type, cosine, least, in_doubt)

        def eligible(by: Vector, among: NDArray[np.intp] | None) -> Iterator[int]:
            if among is None:
                ranked = _best_first(by, most)
            else:
                ranked = (int(among[place]) for place in _best_first(by[among], most))
            return filter(may_get, takewhile(lambda row: cosine[row] >= least, ranked) if by is cosine else ranked)

        return Pool(rows, cosine, similarity, strategies, eligible, most, answered)

    def _may_get(
        self, rows: Slice, task_type: str, cosine: Vector, least: float, in_doubt: Collection[str]
    ) -> Callable[[int], bool]:
        """Return a test of whether the query may get a row: not the question's own memories, not cases that are out of
        date, outvoted or from clients in doubt, and nothing below the `least` cosine."""
        memory, query, terms = self._memory, self.query, self._terms
        up_to_date, left_out = Since(), query.apart
        if terms.is_measured:
            up_to_date = since(memory, task_type)
            if not isinstance(self._learned, Regression):
                left_out |= outvoted(memory, for_anchors=query.is_anchor)
        if query.is_anchor:
            left_out |= of_anchors(rows)
        own_text = normal_form(query.question) if terms.exclude_self else ""
        has_changed = up_to_date != Since()
        is_looked_at = bool(in_doubt or terms.is_reasoned or has_changed)

        def may_get(row: int) -> bool:
            is_strategy = not is_case(rows, row)
            if rows.ids[row] in left_out and not is_strategy:
                return False
            # Unless the run has a floor of its own, strategies do not compete with the others; see `_strategies`.
            if is_strategy and not terms.strategy_floor:
                return False
            if cosine[row] < (max(least, terms.strategy_floor) if is_strategy else least):
                return False
            if terms.exclude_self and rows.question_ids[row] == query.question_id:
                return False
            if is_looked_at:
                case = memory.row(rows.ids[row])
                if has_changed and not is_strategy and up_to_date.is_outdated(memory.taught(case), case.answer):
                    return False
                if case.origin.by in in_doubt or (terms.is_reasoned and not is_strategy and not shows_how(case)):
                    return False
            return own_text == "" or normal_form(memory.question_of(rows.ids[row])) != own_text

        return may_get

    def _similarity(
        self, rows: Slice, cosine: Vector, answered: tuple[CaseAnswers, NDArray[np.float64]] | None
    ) -> Vector:
        """Return the similarities by which the rows of a slice are ranked: `cosine` itself if nothing was learned."""
        if answered:
            answers, worth = answered
            near: Vector = (worth[answers.codes] + TIE * cosine).astype(np.float32)
            return near
        return self._learned.similarity(rows, self.query.vector) if isinstance(self._learned, Metric) else cosine

    def _answered(self, rows: Slice) -> tuple[CaseAnswers, NDArray[np.float64]] | None:
        """Return the answers of the rows and what each is worth to the query, if a regression ranks."""
        if self._expected is None:
            return None
        regression, expected = self._expected
        made_by, known = rows.computed.get("answers by regression", (None, None))
        if made_by is not regression:
            answered = [self._memory.row(name).answer for name in rows.ids]
            parts = {
                answer: features(self.query.task_type, answer, is_label=regression.is_labelled)
                for answer in {*answered}
            }
            known = answers_of(map(parts.__getitem__, answered), regression.parts, regression.rare)
            rows.computed["answers by regression"] = regression, known
        answers: CaseAnswers = known
        return answers, answers.worth(expected)

    @cached_property
    def _expected(self) -> tuple[Regression, NDArray[np.float64]] | None:
        """The regression, if one ranks, and what it expects for each part of the answer."""
        regression = self._learned
        if not isinstance(regression, Regression):
            return None
        return regression, regression.expected(words_of([self.query.question])[0])

    @cached_property
    def _learned(self) -> Metric | Regression | None:
        memory, query = self._memory, self.query
        if not self._terms.is_measured:
            return None
        # Without the whole text there is nothing that it could go by.
        if query.question:
            regression = regression_for(memory, query.task_type, for_anchors=query.is_anchor)
            if regression and regression.taught.isdisjoint((normal_form(query.question), query.question_id)):
                return regression
        return metric_of(memory, query.task_type, for_anchors=query.is_anchor)

    @cached_property
    def _floor(self) -> float:
        # A metric was chosen because it finds what cosines miss: where anything is near, it decides alone.
        floor = self._terms.floor
        lets_all_in = floor > -1 and self._learned is not None and self.nearest() >= floor
        return -1.0 if lets_all_in else floor

    def nearest(self) -> float:
        """Return the cosine of the nearest memory of a case, -1 if there is none."""
        return max(pool.nearest_case for index in get_args(Index) for pool in self._searched(index))

    def bundle(self, find: Find, most: Quotas) -> Bundle:
        if (find, most) not in self._bundles:
            self._bundles[find, most] = self._bundle(find, most)
        return self._bundles[find, most]

    def merged(self, most: int) -> Bundle:
        """Return the nearest of both indexes, up to a number of cases, one per question text."""
        own = chain.from_iterable(map(self._searched, get_args(Index)))
        others = (self.pool(index, name) for name in self.query.others for index in get_args(Index))
        strategies, cases = list[Hit](), dict[str, Hit]()
        for pools in (own, others):
            # Where there is a floor, a question with nothing near gets nothing (rules/floors.py).
            if len(cases) >= most or (pools is others and self._terms.floor > -1 and not cases):
                break
            for hit, is_of_a_case in self._ranked(pools):
                if is_of_a_case and len(cases) < most:
                    cases.setdefault(normal_form(self._memory.question_of(hit.memory_id)), hit)
                elif not is_of_a_case and self._memory.sort_of(hit.memory_id)[2] == self.query.task_type:
                    strategies.append(hit)
                if len(cases) >= most and not self._terms.strategy_floor:
                    break  # strategies came first, unless they compete
        kept = [*strategies[:1], *cases.values()][:most]
        by_index = {index: [hit for hit in kept if self._index(hit) == index] for index in get_args(Index)}
        return Bundle(**by_index)

    def _index(self, hit: Hit) -> Index:
        return INDEXES[self._memory.sort_of(hit.memory_id)[0]]

    def _ranked(self, pools: Iterable[Pool]) -> Iterator[tuple[Hit, bool]]:
        """Yield the memories of pools, each with whether it is a case: strategies first, then the nearest, and the
        newest first among those equally near.
        """
        pools = list(pools)
        strategies = chain.from_iterable(pool.ranked(pool.strategies, pool.similarity) for pool in pools)
        if isinstance(self._learned, Regression):
            others = self._by_seats(pools)
        else:
            others = _merged(pool.ranked(pool.found(), pool.similarity) for pool in pools)
        for similarity, _, pool, row in chain(sorted(strategies, key=_NEAREST_FIRST, reverse=True), others):
            if self._is_left(pool, row, ()):
                yield Hit(pool.rows.ids[row], similarity), is_case(pool.rows, row)

    def _by_seats(self, pools: Sequence[Pool]) -> Iterator[_Ranked]:
        """Yield the cases of pools: those with the likeliest answers in the order of their seats, then all others by
        cosine.
        """
        answered = [(pool, *pool.answered) for pool in pools if pool.answered]
        worth = dict[frozenset[str], float]()
        for _, answers, worths in answered:
            worth |= likeliest(answers, worths)
        seated = sorted(worth, key=lambda answer: (-worth[answer], sorted(answer)))[:SEATS]

        def by_cosine(wanted: Callable[[CaseAnswers], NDArray[np.bool_]]) -> Iterator[_Ranked]:
            each = ((pool, wanted(answers).nonzero()[0]) for pool, answers, _ in answered)
            return _merged(pool.ranked(pool.by_cosine(rows), pool.cosine) for pool, rows in each)

        def near(worth: float, ranked: Iterator[_Ranked]) -> Iterator[_Ranked]:
            seats = 2 if self._terms.is_labelled else 1
            for place, (cosine, birth, pool, row) in enumerate(ranked):
                yield worth / (place // seats + 1) + TIE * cosine, birth, pool, row

        of_seats = [near(worth[answer], by_cosine(methodcaller("are", answer))) for answer in seated]
        return _merged([*of_seats, near(0.0, by_cosine(lambda answers: ~answers.are(*seated)))])

    def _bundle(self, find: Find, most: Quotas) -> Bundle:
        success, failure = most
        corrected = self._hits("failure", find, failure)
        rows = (self._memory.row(hit.memory_id) for hit in corrected)
        shown = {row.question_id for row in rows if row.kind != "type_strategy"}
        return Bundle(self._hits("success", find, success, without=shown), corrected)

    def _hits(self, index: Index, find: Find, count: int, without: Collection[str] = ()) -> list[Hit]:
        if not count:
            return []
        hits: list[Hit] = []
        for pool in self._searched(index):
            nearest = [row for row in pool.nearest if self._is_left(pool, row, without)]
            rows = find(pool, nearest, count - len(hits))
            hits += [Hit(pool.rows.ids[row], float(pool.similarity[row])) for row in rows]
        return hits

    def _is_left(self, pool: Pool, row: int, without: Collection[str]) -> bool:
        is_near = self._floor <= -1 or pool.cosine[row] >= self._floor or not is_case(pool.rows, row)
        return bool(is_near) and pool.rows.question_ids[row] not in without

    def _searched(self, index: Index) -> list[Pool]:
        if index not in self._searches:
            own = self.pool(index)
            borrowed = self.query.merged if len(own.rows.ids) < self._terms.bundle else ()
            self._searches[index] = [own, *(self.pool(index, task_type) for task_type in borrowed)]
        return self._searches[index]


def retrieve(
    arm: str,
    query: Query,
    memory: Memory,
    terms: Terms,
    *,
    recipe: RetrievalRecipeAuthored | None = None,
    candidates: Candidates | None = None,
) -> Bundle:
    """[Eq. 3] There are two exact searches without back-fill, ordered by similarity, the newest first among equals. A
    memory of the same question is left out, and a type strategy needs a floor measured for the embedder. `candidates`
    are the candidates for the same query, if another arm has looked them up already.

    [Theorem 4] At most K memories, none of them quarantined or superseded. eps of the theorem is the share of questions
    whose bundle is not the best; only a world with a known law can show it (tests/kit/truthworld).
    """
    if SEARCH_ARMS[arm].is_merged:
        return (candidates or Candidates(query, memory, terms)).merged(terms.bundle)
    most, find = quotas(arm, query, terms), SEARCH_ARMS[arm].find
    if recipe:
        # A recipe is checked against K when it is written; here its quotas can only lose what K no longer allows.
        success = min(recipe.success_quota, terms.bundle)
        most = success, min(recipe.failure_quota, terms.bundle - success)
        return Candidates(query, memory, terms._replace(least_similarity=recipe.least_similarity)).bundle(find, most)
    return (candidates or Candidates(query, memory, terms)).bundle(find, most)


def within_reach(arm: str, query: Query, memory: Memory, terms: Terms) -> tuple[object, ...]:
    """Return what distinguishes an arm for any query, as in an episode, which retrieves at every step."""
    most = quotas(arm, query, terms)
    sizes = tuple(len(memory.slice(index, query.task_type).ids) for index in get_args(Index))
    is_choosing = any(0 < count < size for count, size in zip(most, sizes, strict=True))
    return (*map(min, most, sizes), SEARCH_ARMS[arm].find if is_choosing else None)


def quotas(arm: str, query: Query, terms: Terms) -> Quotas:
    return SEARCH_ARMS[arm].quotas(terms.bundle, query.context_length > terms.long_context)


def recipe_query(recipe: RetrievalRecipeAuthored, question: str) -> str:
    """Return the text that a recipe embeds for a question; the question itself if the template is empty."""
    return recipe.query_template.replace("{question}", question) or question


def _nearest(pool: Pool, nearest: list[int], count: int) -> list[int]:
    return nearest[:count]


def _diverse(pool: Pool, nearest: list[int], count: int) -> list[int]:
    """Maximal marginal relevance: each further memory is near the question and far from those chosen."""
    # Relevance against novelty among the few nearest; over the whole slice novelty would favour what is merely odd.
    rows = nearest[:_DIVERSE_POOL]
    if not rows or count < 1:
        return []
    relevance, closest = pool.cosine[rows], np.full(len(rows), -1, dtype=np.float32)
    chosen = [int(relevance.argmax())]
    while len(chosen) < min(count, len(rows)):
        vectors = pool.rows.vectors[rows]
        closest = np.maximum(closest, vectors @ vectors[chosen[-1]])
        value = _RELEVANCE * relevance - (1 - _RELEVANCE) * closest
        value[chosen] = -np.inf
        chosen.append(int(value.argmax()))
    return [rows[place] for place in chosen]


def _merged(ranked: Iterable[Iterator[_Ranked]]) -> Iterator[_Ranked]:
    return merge(*ranked, key=_NEAREST_FIRST, reverse=True)


def _best_first(similarity: Vector, count: int) -> Iterator[int]:
    """Yield row numbers by descending similarity, in steps that grow fourfold: filters leave out few rows, and sorting
    a whole slice would cost far more.
    """
    yielded, wanted = set[int](), count + 8
    while True:
        for row in _top(similarity, wanted):
            if row not in yielded:
                yielded.add(row)
                yield row
        if wanted >= len(similarity):
            return
        wanted *= 4


def shows_how(row: MemoryRow | MemoryAppended) -> bool:
    """Return whether a case shows how its answer was reached. A client's demonstration counts: it is a reply as it
    should be.
    """
    return bool(row.reasoning) or row.phase == "serve"


def _strategies(rows: Slice, similarity: Vector, query: Query, terms: Terms) -> list[int]:
    """Return the row numbers of the type strategies near enough to a query, best first.

    [section 3.5, strategy floor] Near is relative: a strategy's text is unlike any question, so the query is compared
    with how near the questions of its type are.
    """
    found = []
    for row, floor in computed_of([rows], "strategy floors", lambda: _strategy_floors(rows)).items():
        is_own = terms.exclude_self and rows.question_ids[row] == query.question_id
        if similarity[row] >= max(floor, terms.least_similarity) and not is_own:
            found.append(row)
    return sorted(found, key=lambda row: (-float(similarity[row]), row))


def _strategy_floors(rows: Slice) -> dict[int, float]:
    """Return, by the row number of each type strategy, the least cosine at which a query is near enough."""
    strategies = [row for row, kind in enumerate(rows.kinds) if kind == "type_strategy"]
    cases = [row for row in range(len(rows.kinds)) if is_case(rows, row)] if strategies else []
    if not cases:
        return dict.fromkeys(strategies, -1.0)
    known = rows.vectors[cases]
    return {row: float(np.quantile(known @ rows.vectors[row], _NEAR)) for row in strategies}


def is_case(rows: Slice, row: int) -> bool:
    """Return whether this is a memory of one question, not a type strategy, whose text is unlike any question."""
    return rows.kinds[row] != "type_strategy"


def _top(similarity: NDArray[Any], count: int) -> list[int]:
    """Return the `count` best rows (and all ties of the last), by descending similarity, newest first among equals."""
    rows = None
    if count < len(similarity):
        # If there are many rows, first find the greatest in each of _PARTS parts: all wanted rows reach the least of
        # the best of these, and few others do. Comparing all rows takes less time than partitioning them.
        size = len(similarity) // _PARTS
        most = similarity[: size * _PARTS].reshape(size, _PARTS).max(axis=0) if size and count < _PARTS else similarity
        rows = (similarity >= np.partition(most, -count)[-count]).nonzero()[0]
        # All ties of the last, because birth decides between them below.
        rows = rows[similarity[rows] >= np.partition(similarity[rows], -count)[-count]]
        similarity = similarity[rows]
    # Rows are by birth: what was learned last about the same words may correct what was learned first.
    order = len(similarity) - 1 - (-similarity[::-1]).argsort(kind="stable")
    found: list[int] = (order if rows is None else rows[order]).tolist()
    return found


def _mixed(bundle: int, is_long: bool) -> Quotas:
    """Return (2, 1) for K = 3, and (1, 2) if the context is long (section 3.5)."""
    major, minor = bundle - bundle // 3, bundle // 3
    return (minor, major) if is_long else (major, minor)


class SearchArm(NamedTuple):
    """A retrieval strategy: how many memories it takes from each index, given K and whether the context is long, and
    how it finds them."""

    quotas: Callable[[int, bool], Quotas]
    find: Find = _nearest
    is_merged: bool = False
    """Whether both indexes share K places, by similarity alone."""
    needs: Literal["nothing", "cascade", "recipe"] = "nothing"
    """What must exist before a question is offered this arm: an enabled part of the cascade, or a recipe for its type.
    `rules/choice.py` knows what exists, and whether it makes a difference."""


# To add an arm, add a row. Names are recorded with every plan and posterior, so a name once used keeps its meaning. The
# order decides ties between arms of equal draws, so a new arm goes last.
SEARCH_ARMS: Mapping[str, SearchArm] = {
    "none": SearchArm(lambda bundle, is_long: (0, 0)),
    "balanced": SearchArm(_mixed),
    "success_only": SearchArm(lambda bundle, is_long: (bundle, 0)),
    "failure_only": SearchArm(lambda bundle, is_long: (0, bundle)),
    "diverse": SearchArm(_mixed, find=_diverse),
    "cascade": SearchArm(_mixed, needs="cascade"),
    "recipe": SearchArm(_mixed, needs="recipe"),  # its quotas are the recipe's own, see `retrieve`
    NEAREST: SearchArm(lambda bundle, is_long: (bundle, bundle), is_merged=True),
}
