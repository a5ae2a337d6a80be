"""The verb `erase`: destroy the key of a subject, and remove or report every trace of its texts.

Rules
    - First, events quarantine what was learned from the subject's questions; nothing is deleted. Then the key is
      destroyed, every store is searched, and the receipt is recorded. The key is destroyed before the search, so that
      no other process can write an unencrypted text after it.
    - An interrupted erasure starts again. If the key is already gone, it cannot know which texts to search for, so it
      deletes all caches, and the receipt says what was not searched.
    - Files that can be rebuilt (snapshots, replays) are deleted if they hold an unencrypted text of the subject. A file
      that the chain covers stays as it is: its texts are ciphertext.
    - A receipt holds no name: `subject_id` stands for the subject, as in its tokens.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from mage_es.engine.rules.quarantine import OUT_OF_USE, status_of
from mage_es.engine.run.directory import Run, as_run, clock, list_runs
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.upkeep.backup import place_beside
from mage_es.engine.upkeep.memory import decided
from mage_es.engine.upkeep.traces import files_in, traces
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.engine.worth.memories import things_of
from mage_es.events import vocabulary as v
from mage_es.events.disk import LocalFileSystem, write_new
from mage_es.events.disk.keys import destroy_key, keys_of
from mage_es.events.errors import KeysUnusable, PrerequisiteError, UsageError
from mage_es.events.facts.private import ERASED, texts_in, under_of
from mage_es.events.log import Log, LogReader
from mage_es.events.segments.questions import named
from mage_es.projections.fold import State

REASON = "the subject asked for it"
_CACHES = ("snapshots", "replays", "in-flight", "beginning")
"""The folders that a run does not need."""
_LEAST = 20
"""How many characters a line needs to be searched for; shorter ones also occur for other subjects."""
_LEAST_NAME = 6
"""How many characters a name needs to be searched for; shorter ones occur within other words."""


class ErasurePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What erasing a subject will do. If the key is already gone, `receipt` is that of the earlier erasure."""

    run_id: str
    subject_id: str
    questions: int
    replies: int
    to_quarantine: tuple[str, ...]
    under_way: tuple[str, ...]
    """Its unfinished questions, which a resumed run could no longer finish."""
    beside: dict[str, str]
    """Other runs in the same folder that have a key of the same subject, with the subject's id there."""
    receipt: v.KeyDestroyed | None = None


class ErasureReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. `seq` is its event in the run's log, `path` the file of this receipt.

    `provider_ids` are the provider's ids of the replies encrypted under the key: only the provider can delete its own
    copies. `is_repeated`: the subject was erased before, and this is the earlier receipt.
    """

    run_id: str
    seq: int
    path: str
    event: v.KeyDestroyed
    provider_ids: tuple[str, ...]
    is_repeated: bool = False


class _Found(NamedTuple):
    """A subject of a run: its name ("" if its key is gone), its questions, and `under`, all ids and markers that the
    log uses for it."""

    subject_id: str
    name: str
    names: frozenset[str]
    questions: frozenset[str]
    replies: Sequence[v.ModelCalled]
    texts: frozenset[str]


@typed
def plan_erasure(run: Run | Path | str, *, subject: str) -> ErasurePlan:
    """Return what `erase` would do; nothing is changed. `subject` is a name, or the id that stands for it.

    Raises:
        UsageError: The run has no such subject; the ids of its subjects are listed.
        PrerequisiteError: The run has no file of keys.
        KeysUnusable: It has a damaged one, or another run's.
    """
    run = as_run(run)
    reader = LogReader(run.log_path)
    state, found = state_of(run, reader), _find(run, reader, subject)
    return _plan(run, reader, state, found)


@typed
def erase(
    run: Run | Path | str, *, subject: str, reason: str = REASON, by: str = "user", also: Sequence[Path | str] = ()
) -> ErasureReceipt:
    """Destroy the key of a subject, quarantine what was learned from its questions, and return the receipt.

    `also` are other places to search: exports, pages, backups. Nothing there is changed.

    Raises:
        UsageError: The run has no such subject, or a place does not exist.
        RunLocked: Another process is writing the run.
        PrerequisiteError: The run has no file of keys.
        KeysUnusable: It has a damaged one, or another run's.
    """
    run, places = as_run(run), [Path(place) for place in also]
    if missing := [place for place in places if not place.exists()]:
        raise UsageError(f"There is nothing at {missing[0]} to search.")
    with Log.open(run.log_path, clock=clock) as log:
        reader = LogReader(run.log_path)
        state, found = state_of(run, reader), _find(run, reader, subject)
        plan = _plan(run, reader, state, found)
        path = run.erasures_path / f"{found.subject_id}.json"
        ids = tuple(sorted({reply.provider_id for reply in found.replies} - {""}))
        if plan.receipt:
            [*_, seq] = [seq for seq, event in reader.numbered(v.KeyDestroyed) if event == plan.receipt]
            return ErasureReceipt(
                run_id=run.id, seq=seq, path=str(path), event=plan.receipt, provider_ids=ids, is_repeated=True
            )
        why = f"it was learned from the subject {found.subject_id}, which is erased"
        items = [(name, why) for name in plan.to_quarantine]
        log.append(decided(run, reader, state, items, action="quarantine", by=by))
        destroy_key(run.log_path, found.name)
        done = v.KeyDestroyed(
            subject_id=found.subject_id,
            reason=reason,
            by=by,
            questions=plan.questions,
            replies=plan.replies,
            quarantined=len(_derived(reader, state, found)),
            stores=tuple(_searched(run, first_event(reader).benchmark, found, plan, ids, places)),
        )
        before = sum(event.subject_id == found.subject_id for event in reader.of(v.KeyDestroyed))
        at = max(-1, state.progress.closed)
        [seq] = log.append([v.Draft(event=done, iteration=at, phase="log", ordinal=1 + before)]).seqs
    receipt = ErasureReceipt(run_id=run.id, seq=seq, path=str(path), event=done, provider_ids=ids)
    disk = LocalFileSystem()
    disk.make_folder(path.parent)
    write_new(disk, path, msgspec.json.format(msgspec.json.encode(receipt)) + b"\n")
    return receipt


aerase = in_thread(erase)


def _find(run: Run, reader: LogReader, subject: str) -> _Found:
    questions, golds = reader.questions()
    gone = {name.removeprefix(ERASED) for name in under_of(*questions) if name.startswith(ERASED)}
    if reader.keys is None:
        raise PrerequisiteError(
            f"{run.id} has no file of keys, so there is no key to destroy: no task of it names a subject, or it is a "
            "copy whose keys are elsewhere. Erase the subject in the run that has them."
        )
    known = {ident: name for name, ident in reader.keys.ids.items()}
    ident = subject if subject in {*known, *gone} else reader.keys.id_of(subject)
    if ident not in {*known, *gone}:
        raise UsageError(
            f"{run.id} has no subject of that name. It has {len({*known, *gone})}, whose names are only in its file "
            f"of keys: {', '.join(sorted({*known, *gone}))}."
        )
    names = frozenset({known.get(ident, ""), f"{ERASED}{ident}"} - {""})
    own = frozenset(text.id for text in questions if names & under_of(text))
    logs = (reader, *(LogReader(each.log_path) for each in run.parts()))
    replies = [event for log in logs for event in log.of(v.ModelCalled) if names & under_of(event)]
    rows = (row for row in (*questions, *(golds or ())) if row.id in own)
    # What a call sent, or a reply about another subject's question, also has texts of others; this subject's own are
    # among the questions.
    about = (
        reply for reply in replies if {reply.about, reply.about.rpartition("/")[0]} & own or reply.tier == "guidance"
    )
    said = (msgspec.structs.replace(reply, sent=v.Sent()) for reply in about)
    others = {line for text in questions if text.id not in own for line in text.question.splitlines()}
    lines = {line for row in (*rows, *said) for text in texts_in(row) for line in text.splitlines()} - others
    name = known.get(ident, "")
    texts = {line.strip() for line in lines if len(line.strip()) >= _LEAST} | (
        {name} if len(name) >= _LEAST_NAME else set()
    )
    return _Found(ident, name, names, own, replies, frozenset(texts))


def _plan(run: Run, reader: LogReader, state: State, found: _Found) -> ErasurePlan:
    receipts = [event for event in reader.of(v.KeyDestroyed) if event.subject_id == found.subject_id]
    plans = (plan for phase in get_args(v.Phase) for plan in state.progress.plans(phase))
    return ErasurePlan(
        run_id=run.id,
        subject_id=found.subject_id,
        questions=len(found.questions),
        replies=len(found.replies),
        to_quarantine=tuple(n for n in _derived(reader, state, found) if status_of(state, n) not in OUT_OF_USE),
        under_way=tuple(sorted({plan.question_id for plan in plans} & found.questions)),
        beside=dict(_beside(run, found)),
        # If the key is back, from a copy of its file, everything has to be done again.
        receipt=receipts[-1] if receipts and not found.name else None,
    )


def _derived(reader: LogReader, state: State, found: _Found) -> list[str]:
    """Return the ids of what was learned from a subject's questions: through its texts, or through the answers that it
    was made from."""
    facts = {
        record.fact_id.hex()
        for record in reader.records({v.AnswerJudged, v.ModelCalled})
        if found.names & under_of(record.event) or getattr(record.event, "question_id", "") in found.questions
    }

    def is_of(thing: Any) -> bool:
        texts = (value for value in msgspec.structs.astuple(thing) if isinstance(value, str))
        own = getattr(thing, "question_id", "") in found.questions
        return own or bool(found.names & under_of(thing, *texts)) or not facts.isdisjoint(thing.origin.facts)

    return [name for name, thing in things_of(state) if is_of(thing)]


def _beside(run: Run, found: _Found) -> Iterator[tuple[str, str]]:
    for other in list_runs(run.path.parent):
        if other.path.resolve() != run.path.resolve():
            try:
                keys = keys_of(other.log_path)
            except KeysUnusable:
                continue
            ident = keys.ids.get(found.name, found.subject_id) if keys else ""
            if keys and ident in keys.ids.values():
                yield other.id, ident


def _searched(
    run: Run, benchmark: str, found: _Found, plan: ErasurePlan, ids: Collection[str], also: Sequence[Path]
) -> Iterator[v.Searched]:
    """Yield each store after searching it; a cache that holds a text of the subject is deleted."""

    def row(store: str, place: str, done: str, left: str = "", *, files: int = 0, found: int = 0) -> v.Searched:
        return v.Searched(store=store, place=place, files=files, found=found, done=done, left=left)

    is_blind = not found.name
    sealed = "its texts are ciphertext, and their key is gone" + ("; not searched" if is_blind else "")
    unseen = "look whether its texts came there in clear: its key was gone before the search" if is_blind else ""
    for name in sorted({path.name for path in run.path.iterdir()} - {"keys"}):
        files, is_cache = files_in(run.path / name), name in _CACHES
        holding = [*files] if is_blind and is_cache else traces(files, found.texts)
        for path in holding if is_cache else ():
            path.unlink()
        done = f"{len(holding)} deleted, made again when needed" if holding and is_cache else sealed
        left = "" if is_cache else unseen or _holders_in_words(holding)
        yield row(name, name, done, left, files=len(files), found=len(holding))
    done = "replaced by a file without its key, and overwritten" if found.name else "its key was gone already"
    copies = "destroy each copy of this file that you keep elsewhere: with it, the texts can be read again"
    yield row("keys", "keys", done, copies, files=1)
    backup = place_beside(run.path)
    for place in ([backup] if backup.exists() else []) + list(also):
        files = files_in(place)
        holding = traces(files, found.texts)
        store, left = "backup" if place == backup else "named", unseen or _holders_in_words(holding)
        done = f"{'not ' * is_blind}searched; a text of the log is ciphertext there as well"
        yield row(store, str(place), done, left, files=len(files), found=len(holding))
    for other, ident in plan.beside.items():
        left = f"it has a key of the same subject: mage-es erase {other} --subject {ident}"
        yield row("run beside", other, "nothing", left)
    goes_on = "none can be there: a run with subjects can be neither continued nor served"
    yield row("child and served runs", "", goes_on)
    asked = f"ask the provider to delete {len(ids)} replies by their ids, which the receipt has" if ids else ""
    yield row("provider", "", "cannot be reached from here" if ids else "no reply has a provider's id", asked)
    left = "delete its rows where the tasks came from, and what you wrote down of its texts while they were readable"
    yield row("tasks", benchmark.partition("?")[0], "not looked for: the run reads its own copy", left)


def _holders_in_words(holding: Sequence[Path]) -> str:
    if not holding:
        return ""
    names = named([path.name for path in holding])
    return f"{len(holding)} files have lines of its texts, which came there in clear: look at them ({names})"
