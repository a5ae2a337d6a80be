"""A writer killed at every moment of a seal, then one file damaged: what `verify` says, and what `repair` leaves.

python -m tests.events.crashed --every 1

told        `verify` names the file, and the log then opens or is repaired, and is sound after that
harmless    `verify` finds nothing, as little as after the kill alone, and the log opens
silent      `verify` finds nothing and the log does not open
misnamed    `verify` finds something, and names another file
unmended    `repair` says that it is done, or that nothing is to be done, and the log is not sound after it
traceback   an exception that is not in the tree of `mage_es.events.errors`
"""

import argparse
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from mage_es.events.care import repair_log, verify_log
from mage_es.events.errors import LogDamaged, MageError
from mage_es.events.log import Log, LogReader
from tests.events.disks import Crash, ForgetfulDisk
from tests.events.samples import abandon, clock, closed, judged, remembered

PATH = Path("/run/log")
BAD = ("silent", "misnamed", "unmended", "traceback")


def states() -> Iterator[ForgetfulDisk]:
    """Yield a disk for each moment at which a kill of a closing writer leaves other files."""
    last, effects, crashed = None, 0, True
    while crashed:
        disk, log = _written()
        disk.fuse, crashed = effects, False
        try:
            log.close()
        except Crash:
            crashed = True
        disk.crash(power=False)
        effects += 1
        if disk.contents() != last:
            last = disk.contents()
            yield disk


def _written() -> tuple[ForgetfulDisk, Log]:
    """Return a log of two segments and a tail, with vectors in all of them."""
    disk = ForgetfulDisk(Random(0))
    for part in range(2):
        log = Log.open(PATH, clock=clock(), fs=disk) if part else Log.create(PATH, run="r1", clock=clock(), fs=disk)
        log.append([judged(10 * part), judged(10 * part + 1)])
        log.append([remembered(part), judged(10 * part + 3)])
        log.close()
    log = Log.open(PATH, clock=clock(), fs=disk)
    log.append([judged(50), closed(0)])
    log.append([remembered(51)])
    log.append([judged(52), judged(53)])
    return disk, log


def harms(data: bytes, random: Random) -> Iterator[tuple[str, bytes | None]]:
    """Yield what becomes of a file, None where it is gone."""
    for _ in range(3):
        place = random.randrange(len(data))
        yield "flip", data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
    yield "cut", data[: random.randrange(1, len(data))]
    yield "empty", b""
    yield "twice", data + data
    yield "grown", data + b"x"
    yield "missing", None


def outcomes(every: int) -> Iterator[tuple[str, str, str]]:
    """Yield kind of file, kind of damage and outcome for one in `every` damages."""
    number = 0
    for place, disk in enumerate(states()):
        random = Random(place)
        for file, data in disk.contents().items():
            if not data or file.suffix == ".tmp":
                continue
            for kind, harmed in harms(data, random):
                number += 1
                if number % every == 0:
                    yield _sort(file), kind, outcome(disk, file, harmed)


def outcome(disk: ForgetfulDisk, file: Path, harmed: bytes | None) -> str:
    """Damage a copy of a disk, verify it, open it, repair it, and say what became of it."""
    disk = copy.deepcopy(disk)
    disk.unlink(file)
    if harmed is not None:
        new = disk.create(file)
        new.write(harmed)
        new.close()
    try:
        found, opens = verify_log(PATH, disk).findings, _opens(copy.deepcopy(disk))
        if found and not any(file.name in finding.file.name + finding.problem for finding in found):
            # An append that was cut by the kill is told as well, of a file that is as the kill left it.
            return "misnamed" if not opens else "harmless"
        if not found:
            return "harmless" if opens else "silent"
        try:
            repair_log(PATH, clock=clock(), fs=disk)
        except LogDamaged:
            return "told" if file.name == "FORMAT" else "unmended"
        is_sound = _opens(disk) and not verify_log(PATH, disk).findings
        return "told" if is_sound else "unmended"
    except MageError:
        raise
    except Exception:
        return "traceback"


def _opens(disk: ForgetfulDisk) -> bool:
    try:
        abandon(Log.open(PATH, clock=clock(), fs=disk))
        return bool(list(LogReader(PATH, disk).records()))
    except MageError:
        return False


def _sort(file: Path) -> str:
    return {".parquet": "segment", ".wal": "write-ahead file"}.get(file.suffix, file.name)


def main() -> int:
    """Print the outcomes by file and damage; 1 if one of them is bad."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    found = list(outcomes(parser.parse_args().every))
    for key, count in sorted(Counter(found).items()):
        print(*(f"{part:18}" for part in key), count)
    print(len(found), dict(Counter(result for *_, result in found)))
    return 1 if any(result in BAD for *_, result in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
