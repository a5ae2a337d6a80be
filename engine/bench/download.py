"""Download one file over HTTP, resumed where an earlier attempt stopped, and renamed into place once it is complete.

Rules
    - The final name appears by an atomic rename of a complete, verified file, so no partial file ever has it.
    - A partial download continues only if the server confirms (by ETag) that the file is still the same.
    - A busy server is asked again a few times, never earlier than its `retry-after`.

Why not a download library: none is among the dependencies, and beyond `urllib` only these rules are needed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mage_es.engine.seams.faults import Fault, fault_of_status
from mage_es.events.errors import PrerequisiteError, UsageError

if TYPE_CHECKING:
    import tenacity

_CHUNK = 1 << 16
_TIMEOUT = 30.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a server that is overloaded or failing temporarily."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-\d+/(\d{1,18})")


class DownloadPolicy(NamedTuple):
    """How often to try, and the first and the longest pause for a busy server, in seconds. If the server asks for a
    longer pause, the command ends with a message.
    """

    attempts: int = 3
    first_s: float = 1.0
    longest_s: float = 120.0


PATIENT = DownloadPolicy()


class Downloaded(NamedTuple):
    """A downloaded file: SHA-256, size in bytes, and how many bytes came from an earlier attempt."""

    sha256: str
    size: int
    resumed: int


class _Busy(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(f"answered {fault.status} {fault.message}")
        self.fault = fault


class _BrokeOff(Exception):
    """The connection ended early; the part file has what arrived."""

    def __str__(self) -> str:
        part, why = self.args
        return f"broke off after {part.stat().st_size if part.exists() else 0} bytes ({why})"


def download(
    url: str, target: Path, *, sha256: str = "", announce: Callable[[str], None], policy: DownloadPolicy = PATIENT
) -> Downloaded:
    """Download a file to `target`, which is replaced atomically, continuing `<target>.part` if that exists.

    `sha256` is the expected checksum of the whole file, "" if unknown; `announce` gets a line for each retry.

    Raises:
        UsageError: The address is neither http nor https.
        PrerequisiteError: The download failed; the message says whether the part is kept for another attempt.
    """
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url} is not a web address: it must begin with https:// or http://")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        resumed = _complete(url, part, policy, announce=announce)
        return _put_in_place(part, target, url=url, sha256=sha256, resumed=resumed)
    except OSError as error:
        what = "the disk is full" if error.errno == errno.ENOSPC else str(error)
        raise PrerequisiteError(
            f"{target} cannot be written: {what}. Free some space, or choose another --data-dir, and try again."
        ) from error


def _complete(url: str, part: Path, policy: DownloadPolicy, *, announce: Callable[[str], None]) -> int:
    """Complete the part file; return the byte at which the last request began."""
    import tenacity

    jitter = tenacity.wait_random_exponential(policy.first_s, max=policy.longest_s)

    def pause(state: tenacity.RetryCallState) -> float:
        error = _error(state)
        return error.fault.retry_after + jitter(state) if isinstance(error, _Busy) else 0

    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(policy.attempts),
        retry=tenacity.retry_if_exception(
            lambda error: isinstance(error, _Busy) and error.fault.retry_after <= policy.longest_s
        )
        | tenacity.retry_if_exception_type(_BrokeOff),
        wait=pause,
        before_sleep=lambda state: announce(f"{url} {_error(state)}; asking again in {state.upcoming_sleep:.0f} s"),
        reraise=True,
    )
    try:
        return retrying(_receive, url, part, announce=announce)
    except _Busy as error:
        asked = error.fault.retry_after
        later = f"in {asked:.0f} seconds, as the server asks" if asked else "later"
        raise PrerequisiteError(f"{url} {error}: run the same command again {later}.") from error
    except _BrokeOff as broken:
        kept = "The partial download is kept: run the same command again to continue it."
        anew = "This server cannot resume: the same command starts over. Try a mirror with --from."
        raise PrerequisiteError(
            f"{url} {broken}, {policy.attempts} times. {kept if _tag_file(part).exists() else anew}"
        ) from broken


def _error(state: tenacity.RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _receive(url: str, part: Path, *, announce: Callable[[str], None]) -> int:
    """Make one request and write its body; return the byte at which it began.

    Raises `_BrokeOff`, `_Busy`, or `PrerequisiteError` if another attempt is pointless.
    """
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "mage-es"})
    have, tag_file = 0, _tag_file(part)
    if part.exists() and tag_file.exists():
        have = part.stat().st_size
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag_file.read_text())
    with _opened(request, part) as response:
        start, total = _extent(response, have)
        if start:
            announce(f"{url}: resuming after {start} bytes")
        tag = response.headers.get("ETag", "")
        if tag and not tag.startswith("W/"):
            tag_file.write_text(tag)
        else:
            tag_file.unlink(missing_ok=True)
        with part.open("r+b" if start else "wb") as file:
            file.seek(start)
            if start:
                file.truncate()
            for block in _blocks(response, part):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            have = file.tell()
    if total is not None and have != total:
        raise _BrokeOff(part, f"{total} bytes were announced")
    return start


def _opened(request: urllib.request.Request, part: Path) -> HTTPResponse:
    url = request.full_url
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:  # the part is longer than the file, so it is from another version
                part.unlink(missing_ok=True)
                raise _BrokeOff(part, "the server has nothing after that") from error
            if error.code in _PASSING:
                after, date = (error.headers.get(name) for name in ("retry-after", "date"))
                raise _Busy(fault_of_status(error.code, error.reason, retry_after=after, date=date)) from error
            raise PrerequisiteError(
                f"{url} answered {error.code} {error.reason}. Check whether the address has changed, "
                f"or put the file at {part.with_suffix('')} yourself."
            ) from error
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise PrerequisiteError(
            f"{url} cannot be reached: {reason}. Check the network and run the same command again, "
            f"or put the file at {part.with_suffix('')} yourself."
        ) from error
    assert isinstance(response, HTTPResponse)
    return response


def _extent(response: HTTPResponse, asked: int) -> tuple[int, int | None]:
    """Return the position of the body in the file, and the size of the whole file if the server gives it."""
    if response.status == 206:
        found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not found or int(found[1]) != asked:
            raise PrerequisiteError(
                f"{response.url} sent the range {response.headers.get('Content-Range')!r}, not bytes from {asked}. "
                "Delete the .part file and run the same command again."
            )
        return asked, int(found[2])
    length = response.headers.get("Content-Length")
    return 0, int(length) if length and re.fullmatch(r"\d{1,18}", length) else None


def _blocks(response: HTTPResponse, part: Path) -> Iterator[bytes]:
    while True:
        try:
            block = response.read(_CHUNK)
        except (HTTPException, TimeoutError, ConnectionError) as error:
            raise _BrokeOff(part, error or type(error).__name__) from error
        if not block:
            return
        yield block


def _put_in_place(part: Path, target: Path, *, url: str, sha256: str, resumed: int) -> Downloaded:
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 and found != sha256:
        part.unlink()
        _tag_file(part).unlink(missing_ok=True)
        raise PrerequisiteError(
            f"{url} has the SHA-256 {found}, expected {sha256}: the file was changed or damaged in transit. "
            "It was deleted; run the same command again, or check whether upstream has a new version."
        )
    size = part.stat().st_size
    part.replace(target)
    _tag_file(part).unlink(missing_ok=True)
    return Downloaded(found, size, resumed)


def _tag_file(part: Path) -> Path:
    return part.with_name(part.name + ".etag")
