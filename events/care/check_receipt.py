"""Check a receipt of `mage-es receipt` without mage-es: python check_receipt.py receipt.json [VERIFIER KEY]...

Needs Python 3.11 and, for signatures, the package cryptography. Exits with 0 where all holds. What that proves: the
events printed are in the log whose head was signed, in these places. Whether a key is whose you think it is you must
know from elsewhere: give it as an argument.
"""

import hashlib
import json
import sys
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def require(holds: object, otherwise: str) -> None:
    if not holds:
        sys.exit(f"NOT proved: {otherwise}")


def root(proved: dict[str, Any], size: int) -> bytes:
    """Return the root of a tree of `size` leaves that an event's path leads to (RFC 9162, 2.1.3.2), b"" for none."""
    found, place, last = sha(b"\0" + proved["leaf"].encode()), proved["index"], size - 1
    for beside in map(b64decode, proved["path"]):
        if last == 0:
            return b""
        # A right neighbour is there unless this is the last of its row; then the row above is gone to.
        if place % 2 or place == last:
            found = sha(b"\1" + beside + found)
            while not place % 2 and place:
                place, last = place // 2, last // 2
        else:
            found = sha(b"\1" + found + beside)
        place, last = place // 2, last // 2
    return found if last == 0 and 0 <= proved["index"] < size else b""


def signers(note: str, keys: Sequence[str]) -> Iterator[str]:
    """Yield the verifier keys (C2SP signed-note, tlog-cosignature) that signed or cosigned a note."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    text, lines = note.rsplit("\n\n", 1)
    for key in keys:
        name, digits, encoded = key.split("+", 2)
        kind, public = b64decode(encoded)[0], b64decode(encoded)[1:]
        # The digits are a hash of name, kind and key: a key under another's name has others.
        require(sha(f"{name}\n".encode() + bytes([kind]) + public)[:4].hex() == digits, f"{key} is no verifier key")
        for _, who, line in (line.split(" ") for line in lines.splitlines()):
            data = b64decode(line)
            if who == name and data[:4].hex() == digits:
                when = f"cosignature/v1\ntime {int.from_bytes(data[4:12])}\n" if kind == 4 else ""
                try:
                    Ed25519PublicKey.from_public_bytes(public).verify(data[-64:], f"{when}{text}\n".encode())
                except InvalidSignature:
                    require(False, f"the signature of {name} is false")  # noqa: FBT003
                yield key


def main(file: str, keys: Sequence[str]) -> None:
    with open(file, encoding="utf-8") as opened:  # noqa: PTH123
        receipt = json.load(opened)
    origin, size, head = receipt["checkpoint"].split("\n")[:3]
    trees = [("log", receipt["events"], int(size), b64decode(head))]
    if receipt["exam_events"]:
        # The exam's own log is vouched for by the event with which the run's log closed it, proved above it.
        closed = json.loads(receipt["events"][-1]["leaf"])["event"]
        trees.append(("exam", receipt["exam_events"], closed["head_seq"], bytes.fromhex(closed["root"])))
    for name, proofs, leaves, wanted in trees:
        for proved in proofs:
            told = json.loads(proved["leaf"])
            require(root(proved, leaves) == wanted, f"event {told['seq']} is not in the {name}")
            # A leaf says its own place: with a path of another one it would pass for a different event.
            require(told["seq"] == proved["index"] + 1, f"event {told['seq']} is in the place of another")
            print(
                f"{told['run']}, event {told['seq']}, {told['type']}: {json.dumps(told['event'], ensure_ascii=False)}"
            )
    signed = list(signers(receipt["checkpoint"], keys or receipt["keys"]))
    require(signed and {*keys} <= {*signed}, f"no signature of {', '.join(keys) or 'a key that it names'}")
    print(f"{origin} up to event {size} is signed by {', '.join(signed)}{'' if keys else ': is that whom you know?'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
