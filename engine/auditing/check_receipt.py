"""Check a receipt of `mage-es receipt` without mage-es: python check_receipt.py receipt.json [VERIFIER KEY]...

The standard library checks that the events printed are in the log with that head; who signed it needs the package
cryptography. You must learn whose key that is from another source; give the key as an argument.
"""

import json
import sys
from base64 import b64decode
from hashlib import sha256
from pathlib import Path


def require(holds: object, otherwise: str) -> None:
    if not holds:
        sys.exit(f"NOT proved: {otherwise}")


def root(leaf: bytes, index: int, size: int, path: list[str]) -> bytes:
    """Return the root of a tree of `size` leaves (RFC 6962) that a leaf's path leads to; b"" if it is too long."""
    if size <= 1 or not path:
        return b"" if path else leaf
    beside, split = b64decode(path[-1]), 1 << (size - 1).bit_length() - 1  # the left side is the full one
    if index < split:
        return sha256(b"\1" + root(leaf, index, split, path[:-1]) + beside).digest()
    return sha256(b"\1" + beside + root(leaf, index - split, size - split, path[:-1])).digest()


def has_signed(key: str, note: str) -> bool:
    """Return whether a key (C2SP signed-note, tlog-cosignature) signed or cosigned a note; exits on a false line."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    (text, lines), (name, digits, encoded) = note.rsplit("\n\n", 1), key.split("+", 2)
    require(sha256(f"{name}\n".encode() + b64decode(encoded)).hexdigest()[:8] == digits, f"{key} is no verifier key")
    signatures = [b64decode(line.split(" ")[2]) for line in lines.splitlines() if line.split(" ")[1] == name]
    for data in (own := [data for data in signatures if data[:4].hex() == digits]):
        when = f"cosignature/v1\ntime {int.from_bytes(data[4:12])}\n" if b64decode(encoded)[0] == 4 else ""
        try:
            Ed25519PublicKey.from_public_bytes(b64decode(encoded)[1:]).verify(data[-64:], f"{when}{text}\n".encode())
        except InvalidSignature:
            sys.exit(f"NOT proved: the signature of {name} is false")
    return bool(own)


def main(file: str, *keys: str) -> None:
    receipt = json.loads(Path(file).read_bytes())
    origin, size, head = receipt["checkpoint"].split("\n")[:3]
    trees = [("log", receipt["events"], int(size), b64decode(head))]
    if receipt["exam_events"]:  # vouched for by the event with which the run's log closed the exam, proved before them
        closed = json.loads(receipt["events"][-1]["leaf"])["event"]
        trees.append(("exam", receipt["exam_events"], closed["head_seq"], bytes.fromhex(closed["root"])))
    for name, leaves, wanted, each in ((tree[0], *tree[2:], each) for tree in trees for each in tree[1]):
        fact, leaf = json.loads(each["leaf"]), sha256(b"\0" + each["leaf"].encode()).digest()
        require(root(leaf, each["index"], leaves, each["path"]) == wanted, f"event {fact['seq']} is not in the {name}")
        require(fact["seq"] == each["index"] + 1, f"event {fact['seq']} is in the place of another")
        print(f"{fact['run']}, event {fact['seq']}, {fact['type']}: {json.dumps(fact['event'], ensure_ascii=False)}")
    try:
        by = [key for key in keys or receipt["keys"] if has_signed(key, receipt["checkpoint"])]
    except ImportError:
        require(not keys, "who signed it: the package cryptography is missing")
        print(f"{origin} up to event {size}: who signed it is NOT CHECKED, the package cryptography is missing")
        return
    require(by and {*keys} <= {*by}, f"no signature of {', '.join(keys) or 'a key that it names'}")
    print(f"{origin} up to event {size} is signed by {', '.join(by)}{'' if keys else ': is that someone you know?'}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:] or [""])
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        print(f"{' '.join(sys.argv[1:2]) or 'No file'}: this is not a receipt: {error!r}", file=sys.stderr)
        sys.exit(2)
