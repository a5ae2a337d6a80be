"""The coin that decides which sessions get no memory, so that the gain of memory can be measured.

Rules
    - The coin is a keyed hash of the session: the same session always falls on the same side, in any process, and a
      client that does not know the salt cannot pick a side by naming its session.
    - The salt is in the log, so whoever has the log can toss every coin again.
"""

import hmac

from mage_es.events.vocabulary import MICRO

SALT_BYTES = 16


def is_held_back(salt: str, key: str, session: str, *, share_micro: int) -> bool:
    """Return whether a session of a key (its name) is among the `share_micro` millionths that get no memory."""
    coin = hmac.digest(bytes.fromhex(salt), f"{key}\0{session}".encode("utf-8", "surrogatepass"), "sha256")
    return int.from_bytes(coin[:8], "big") * MICRO < share_micro << 64
