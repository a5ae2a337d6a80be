"""The log: one writer that makes events durable, any number of readers, and the recovery between two writers.

Theory of operation

What it guarantees. An event that `append` returned survives any crash of the process or the machine; events appended
together are all there or none; their order never changes and has no gaps; recording a fact twice records it once. A
byte that changes on the disk is noticed before it is believed.

An append (writer.py) becomes one frame of the active write-ahead file (wal/frames.py): the records, a CRC32C, and a
hash that chains the frame to the one before it. The frame is written and synced; only then does the writer move the
*watermark* in the LOCK file, which tells readers on this machine how far the log is durable, and return. HEAD says the
same across a restart of the machine. It is replaced at the close of each iteration and whenever a file is sealed, so it
may lag: it is a lower bound. After a failed write or sync the state of the disk is unknown, and the writer refuses
everything until the log is opened again.

A write-ahead file is *sealed* when it is full and when the log is closed (segments/sealing.py): its events become a
typed Parquet segment, written under a temporary name, read back, compared and renamed. Then the next write-ahead file
records `log.segment_sealed` with the segment's SHA-256, and only then is the old file removed. At every moment an event
is in at least one whole file. And because each segment's hash is an event in what follows, the newest chain value, the
*head*, vouches for the whole history.

Opening a log for writing first *recovers* it (recovery.py). A crash can only leave an unfinished frame at the end of
the last file: that tail was never acknowledged and moves to quarantine/. A seal that was interrupted is finished.
Anything else is damage, for instance a broken frame with whole ones behind it, or a log that ends before HEAD. Then
recovery changes nothing and raises `LogDamaged`; care/ can verify, restore and repair.

A reader (reader.py) takes no lock and writes nothing. It shows a fixed prefix up to its head until it is refreshed:
segments, whose hash it compares before it parses them, then whole frames (tail.py). The last frame is withheld until
the watermark, HEAD or a later frame shows that it was synced, so a reader never acts on an event that a power cut
could take back.

Which module does what: writer.py appends and seals, recorded.py knows which facts exist, recovery.py makes a log whole,
tail.py and reader.py read, following.py waits for more, markers.py names moments such as `iter-9`.
"""

from mage_es.events.log.following import follow
from mage_es.events.log.reader import LogReader
from mage_es.events.log.writer import Appended, Head, Log, LogClock

__all__ = ["Appended", "Head", "Log", "LogClock", "LogReader", "follow"]
