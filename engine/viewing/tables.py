"""Interval tables: what a run was like at any moment of its life, without a fold.

Form A chunk is a file `data/<name>.js` with one call, `mage("<name>", "<base64 of gzip of JSON>")`. `<name>` is `runs`,
`<run>/index`, or `<run>/<table>-<n>` (n from 0); the index says how many chunks each table has. The JSON of a table is
{"first": F, "rows": N, "columns": {column: values}}: rows F to F + N - 1 of the table. A row's number is its place in
the table; other tables refer to it by that number. `values` is a list of N values, or {"of": [distinct values], "at":
[N places in it]} where values repeat. null: there is no value.

    A row with `from` and `to` is valid for events from <= seq < to (`to` null: still). The state at seq is the rows
    that are valid there; a column `from` alone means: valid for good. Shares are fractions, `*_micro` millionths.

    Exact or by stops: in a log of at most 100,000 events every row begins at its very event. In a longer one the rows
    of scores, cost and bandits (marked S) begin at stops: the ends of phases and of iterations, exams, and the last
    event; between two stops they say what held at the earlier one. `index.exact` tells the two cases apart.

runs: {"runs": [{run}]}; each has `<run>/index` and `<run>/card`.

words: {"words": {word: its meaning}}, which the page explains wherever they appear.

card
    state (finished unfinished served damaged empty unread) problem (of the last three), benchmark baseline (its name,
    "" none) learner iterations_done iterations (0: of a baseline) events began_us ended_us correct total (anchors at
    the last closed iteration; of a baseline all its questions) calls guidance_calls usd (null: a price is unknown)
    shares [before, after] gain low high p exam exam_before (as in `overview`, null: none).

index
    run, path, named (as commands take it: its folder, in an export its id),
    kind (questions | episodes | baseline | served), state (finished, unfinished, damaged, empty), problem ("" or what
    is damaged, and how much is whole: the tables hold that), benchmark, measure (accuracy | score), config {name:
    value}, models {execution, guidance, judge, embedder}, last (last seq), head (chain, "" of what is damaged),
    began_us, ended_us (times of the first and the last event), parent (null or text), command (that begins the same
    run, "" unknown), exact (bool), copy (bool: an export, not a server), stamp (changes with the run: a server's chunk
    that is asked for with it, after a "?", may be kept; "" of a copy), markers (a table: seq, iteration, phase ("" for
    the end of an iteration)), anchors [[seq, share right from there on, at the last closed iteration]],
    marks [{seq, kind: rollback|quarantine|release|split|exam|asked again|erased|resumed|repaired|finished, text}],
    types [event type], chunks {table: [rows of each chunk but the last, number of chunks]}, counts {table: rows},
    version. While a server still reads a long log it is {reading: share of it that was read}.
    Tables of one run below; a table without rows has no chunk.

overview   from to | marker (`iter-3/update`, `seq:17` of a stop that is none) closed (last closed iteration, -1: the
           start, -2: none) fresh_correct fresh_total anchor_correct anchor_total guard (of that iteration; anchors as
           in scores; its verdict, "" none) open_iteration (one whose anchors are being asked, null: none)
           open_correct open_total (of its anchors so far) memories (those that prompts can show) quarantined stored
           (all) nodes edges execution_calls guidance_calls usd (null: a price is unknown) gain low high (points and
           their 95 % interval: the exam of the newest state against that of the start; null if there is none) p exam
           exam_before (those two) guidance_at_inference (guidance calls of the exams so far). A row for each stop.
verify     one row: ok (bool) text findings [text] leaks (held-out questions found in what was learned, null: not told)
           checks [{name, ok, detail, measured, bound, seq (of the first event that breaks it, 0: none), damaged}]: what
           `mage-es verify` says when the chunk is asked for (in an export: when it was written).
scores  S  from to | iteration purpose (fresh revisit anchor exam ask explore) correct total unanswered
           undecided (no anchor that was not asked, as the guard had decided)
exams      from (exam.opened) closed (seq or null) | exam marker head_seq control execution correct total unanswered
           undecided low high (Wilson, 95 %) guidance_calls problem ("" or why its own log cannot be read)
guard      from | iteration verdict correct total against drop p_value best best_drop best_p_value smallest_drop
           rolled_to (iteration restored, null: none) better [question row] worse [question row] same (paired with
           `against`: those that were asked, or would have seen the same) same_right unpaired carried (not asked,
           as the guard had decided: not in `total`, which are those that were measured on this state, nor compared)
nodes      from to (pruned) | id (`skill/x`) kind (skill task_type memory tool recipe entity observation context) layer
           (capability task experience environment) label x y. Positions in [-1, 1], the same in every table of a run.
edges      from | source target (node rows) kind label weight derived (true: a field of a memory, not an edge of the
           graph: `exercises` a skill, `about` a task type, `superseded by` a memory), in order of birth
memories   from | id kind (`success_memory`, `failure_memory/specific`, ..., tool, action_recipe, retrieval_recipe,
           abstracted_pattern) task_type skill question (question row or null) iteration phase title (its lesson, on
           one line) prompts right. What a run learned: memories, tools, recipes, patterns; in order of birth. Over the
           whole run and its exams the number of prompts that showed it, and of those answered right.
memory_states  from to | memory (row) status (active superseded quarantined failed pruned older ...) by (row of the
           memory that superseded it, null) met successes failures confidence_micro (the last
           three of patterns, what supports them; else null)
texts      (row = memory row) fields [[name, text]] source (who gave what) facts [seq] (verdicts and
           calls it was made of)
           missing (how many of them are in a parent's log) shown [asking row; none that was carried] right asked
           coin_right coin_asked left_right left_asked (the last four: of questions where a coin decided; all over the
           whole run) again ({questions pairs won lost points low high p least}: asked once more without it, by
           `mage-es effect`; null: never)
curations  from | memory (row or null) id what (quarantined released superseded pruned refused proposed published,
           `proposed as gold`) by reason
mastery    from to | skill mastery successes failures (evidence so far) prompt_template strategy parent description
bandits S  from to | bandit key arm alpha_micro beta_micro pulls (with those that a skill has of the one it was split
           from, discounted) own (the rewards of this key alone)
cost    S  from to | tier agent purpose iteration model served_by batched calls failures retries cut input_tokens
           cached_tokens output_tokens thinking_tokens cache_write_tokens latency_us usd (null: price unknown)
exam_cost  from (exam.closed) | exam tier agent purpose iteration model served_by batched calls failures retries
           cut input_tokens cached_tokens output_tokens thinking_tokens cache_write_tokens latency_us usd: what is in
           the exam's own log, and not in `cost`
wordings   (row = question row) question context: whole, "" if the log has none
questions  id split (evolution, anchor, held-out, "": none) task_type (as last asked) title (one line) asked wrong
           unanswered undecided changed (verdicts that differ from the one before; the last five over the whole run,
           without what was carried; what is undecided is in no other). Their askings are in `asked`.
asked      the same by id, for who looks for one: {"questions": a table, "askings": a table of theirs}, each with a
           column `row`. The UTF-8 bytes of an id as one number, the first the highest, mod 1,000,003, mod the number of
           chunks are the chunk that has it.
askings    from (its plan; of an exam's question the exam's `from`) judged (seq from which the verdict holds, null:
           none) to (seq of the next verdict of the question in the same series, null: still) | question (row) iteration
           purpose exam (its name, "" none) title (`iter-3 fresh`, `exam 0001-start`) task_type skill verdict (correct
           wrong unanswered undecided open) carried ("": asked; else why it was not: `it would have seen the
           same`, so there is no plan, or `the guard had decided`, so what was planned was never sent) verdict_of
           (of a carried one the asking whose verdict it has; null: a parent's) score_micro template search_arm
           routing_arm memories (number planned) seq (its event: in the exam's log, for an exam). Questions of exams
           come last.
answers    (row = asking row) question_text context expected (null: unknown) answer template problem ("" or why it is
           not known what the prompts quote) facts [[name, text]] (what else there is to say: the judge, the plan) arms
           [[bandit, arm, probability, key]]
           bundle [[memory id, similarity (null: not retrieved by it), what, title]] left_out [the same] tool
           prompt_sha256 verified (every prompt below, as it was sent, has its recorded hash; null: unknown)
           calls [{kind: "call", about, tier, agent, model, served_by, seq, system, prompt: [text | {"t": n, "source":
           ".."}], sha256, request_sha256, rest, verified, reply, stop_reason, input_tokens, output_tokens, latency_us,
           failures [text]} | {kind: "trimmed", about, memory, problem, verified} | {kind: "tool", tool_id, name,
           arguments, result, problem} | {kind: "search", search, query, titles, is_there, problem} | {kind: "step",
           step, action, observation, memories [id]}].
           The chunk has `texts`: [text] beside `columns`; {"t": n} is the quoted span texts[n] (`source`:
           `memory/<id>`, `skill/x`, `tool/<id>`, ...). The pieces joined are the prompt. What a page can check of it:
           of the first call `sha256`, that of (system ? system + "\\n\\n" : "") + prompt ("" of any other call);
           of each call `request_sha256`, that of system + "\\0" + prompt + "\\0" + rest.
events     (row = seq - 1) type (place in index.types) iteration phase subject ts_us causation (0: none) correlation
           ordinal commit caused [seq] (events that name this one as their cause)
payloads   (row = seq - 1) payload {field: value}; of a vector only its length in numbers
inferences (served runs) from closed | inference session key shape model treatment task_type arm probability memories
           [memory row or null] outcome status problem input_tokens cached_tokens output_tokens latency_us overhead_us
           question (one line). What is not known, or not yet, is null.
exchanges  (row = row of inferences) question reply (null: not recorded)
feedback   from | inference (row or null) session metric kind value_micro (of a score) text (null: none) key
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from mage_es.engine.viewing.columns import Codes, Numbers, RowsByNumber
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event

__all__ = ["TIMED", "Rows", "columns_of", "hashed", "packed", "picked", "whole"]

TIMED = ("from", "to")
"""The columns with which a table of intervals begins."""
_PRIME = 1_000_003
_FEW = 2
"""A column of texts is packed if it has fewer distinct texts than its number of rows divided by this."""


def whole(*types: type[Event]) -> Reads:
    """Return these types with all their fields."""
    return {cls: cls.__struct_fields__ for cls in types}


class Rows:
    """A table under construction, column by column; rows are numbered from 0. The columns named in `numbers` hold
    integers, those in `codes` values of which few differ; `others` are given, and the rest are lists. With `by_number`
    keys are whole numbers from 0."""

    def __init__(
        self,
        names: str,
        *,
        numbers: str = "",
        codes: str = "",
        others: Mapping[str, Any] | None = None,
        by_number: bool = False,
    ) -> None:
        small = {name: Numbers() for name in numbers.split()} | {name: Codes() for name in codes.split()}
        given = {**small, **(others or {})}
        self.columns: dict[str, Any] = {name: given.get(name, []) for name in names.split()}
        self._appends = [column.append for column in self.columns.values()]
        self._open: Any = RowsByNumber() if by_number else dict[Hashable, int]()

    @classmethod
    def of(cls, columns: dict[str, Any]) -> Rows:
        """Return the table of these columns."""
        return cls(" ".join(columns), others=columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def add(self, *values: Any) -> int:
        """Append a row and return its number."""
        row = len(self)
        for append, value in zip(self._appends, values, strict=True):
            append(value)
        return row

    def extend(self, *columns: Sequence[Any]) -> int:
        """Append rows, given by their columns, and return the number of the first."""
        first = len(self)
        for column, values in zip(self.columns.values(), columns, strict=True):
            column.extend(values)
        return first

    def begin(self, keys: Iterable[Hashable], seqs: Sequence[int], *columns: Sequence[Any]) -> None:
        """Give new keys their first values, from their events on."""
        for row, key in enumerate(keys, self.extend(seqs, [None] * len(seqs), *columns)):
            self._open[key] = row

    def put(self, key: Hashable, seq: int, *values: Any) -> None:
        """Give a key a new value from event `seq` on: the previous interval ends there, unless the value is equal.

        The table's first columns are those of `TIMED`.
        """
        if (row := self._open.get(key)) is not None:
            began, ended, *columns = self.columns.values()
            # From the last column on: the first ones are mostly the key, which is equal.
            if all(column[row] == value for column, value in zip(columns[::-1], values[::-1], strict=True)):
                return
            if began[row] == seq:  # one event changed it twice, so the value in between was never valid
                for column, value in zip(columns, values, strict=True):
                    column[row] = value
                return
            ended[row] = seq
        self._open[key] = self.add(seq, None, *values)

    def current(self, key: Hashable, name: str) -> Any:
        """Return the value of a column that a key has now, None if it has none."""
        row = self._open.get(key)
        return None if row is None else self.columns[name][row]

    def at(self, row: int) -> dict[str, Any]:
        return {name: column[row] for name, column in self.columns.items()}


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return rows of the same fields as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def packed(columns: Mapping[str, Sequence[Any]], first: int, last: int, **beside: Any) -> dict[str, Any]:
    """Return rows `first` to `last` (both included) in the form of a chunk, with whatever else it holds."""
    cut = {name: _packed(values[first : last + 1]) for name, values in columns.items()}
    return {"first": first, "rows": last - first + 1, "columns": cut, **beside}


def picked(columns: Mapping[str, Sequence[Any]], rows: Sequence[int]) -> dict[str, Any]:
    """Return some rows in that form, each with its number in column `row`."""
    kept = {name: [values[row] for row in rows] for name, values in columns.items()}
    return packed({"row": rows, **kept}, 0, len(rows) - 1)


def hashed(name: str) -> int:
    """Return the number of an id, by which the chunk of `asked` that has the id is found."""
    return int.from_bytes(name.encode()) % _PRIME


def _packed(values: Sequence[Any]) -> Collection[Any]:
    if not all(isinstance(value, str) for value in values):
        return values
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    if len(places) * _FEW >= len(values):
        return values
    return {"of": list(places), "at": [places[value] for value in values]}
