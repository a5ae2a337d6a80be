"""What the check of a theorem reports."""

from typing import Literal

import msgspec


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One claim, and whether it holds.

    `measured` and `bound` say what was measured and what is allowed; `seq` is the first event that breaks it (0: none,
    or unknown), in the log of the run or, for an exam, in its own. `damaged` says that bytes are not what was written,
    so that the claim can be neither true nor false. A `doubt` is not a failure: something is odd but may be honest, or
    could not be checked here.
    """

    name: str
    ok: bool
    detail: str
    measured: str = ""
    bound: str = ""
    seq: int = 0
    damaged: bool = False
    doubt: bool = False

    @property
    def result(self) -> Literal["ok", "doubt", "FAILED"]:
        return ("doubt" if self.doubt else "ok") if self.ok else "FAILED"
