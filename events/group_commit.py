"""Group commit: many asynchronous producers share a log's one writer, and as few syncs as they can.

Rules
    - What is submitted while one commit is on its way to the disk is the next commit. The sync is the window; there is
      no timer, so a lone producer never waits for company.
    - A producer goes on once its facts are durable, or with the error that kept them from it. A submission is atomic.
    - Nobody pays for another's mistake: where a commit is refused as it stands, its submissions are tried one by one.

For programs whose workers each wait for their own facts to be durable. The engine's loop hands over whole batches of
answers, from one place, and appends them itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple

from mage_es.events.appended import Appended
from mage_es.events.envelope import Draft
from mage_es.events.errors import UsageError
from mage_es.events.log import Log


class _Submission(NamedTuple):
    drafts: Sequence[Draft]
    done: asyncio.Future[Appended]


class GroupCommit:
    """The front of an open log within one event loop; nothing else may append to that log. The log is not closed."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[_Submission] = []
        self._writer: asyncio.Task[None] | None = None
        self._is_closed = False

    async def submit(self, drafts: Sequence[Draft]) -> Appended:
        """Return the records of some facts once they are durable, all of them in one commit, in the order given.

        A producer that is cancelled while it waits for its turn has recorded nothing; later, it may have. Raises what
        `Log.append` raises: `UsageError` for an event that cannot be stored (nothing happened), and `WriterPoisoned`
        after a failed write or sync, from then on for everybody.
        """
        if self._is_closed:
            raise UsageError(f"the log of {self._log.run} takes no more submissions: they have been closed.")
        done: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Submission(drafts, done))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return await done

    async def close(self) -> None:
        """Take nothing more, and return once everything submitted is durable or refused."""
        self._is_closed = True
        if self._writer is not None:
            await asyncio.wait([self._writer])

    async def __aenter__(self) -> GroupCommit:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _write(self) -> None:
        """Commit until nobody waits."""
        try:
            while self._waiting:
                batch = [submission for submission in self._waiting if not submission.done.done()]
                self._waiting = []
                await self._commit(batch)
        finally:
            self._writer = None

    async def _commit(self, batch: Sequence[_Submission]) -> None:
        """Append submissions in one commit, in a thread, and tell each what came of it."""
        drafts = [draft for submission in batch for draft in submission.drafts]
        try:
            records = await asyncio.to_thread(self._log.append, drafts)
        except UsageError as error:
            if len(batch) > 1:  # one of them is at fault, or two of them submit the same fact
                for submission in batch:
                    await self._commit([submission])
            else:
                _fail(batch, error)
        except BaseException as error:
            _fail(batch, error)
            if not isinstance(error, Exception):
                raise
        else:
            start = 0
            for submission in batch:
                own, start = records[start : start + len(submission.drafts)], start + len(submission.drafts)
                if not submission.done.done():
                    submission.done.set_result(own)


def _fail(batch: Sequence[_Submission], error: BaseException) -> None:
    for submission in batch:
        if not submission.done.done():
            submission.done.set_exception(error)
