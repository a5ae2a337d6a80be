"""The events of a log as polars frames, one row for each event, for grouping and summing over many."""

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from mage_es.events.facts.shapes import shapes_of
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.segments.columns import arrow_type
from mage_es.events.vocabulary import Event


def frames(reader: LogReader, reads: Reads) -> Mapping[type[Event], pl.DataFrame]:
    """Return a frame for each event type: `seq` and the wanted fields, in the order of the log. Raises `LogDamaged`."""
    # Starting from an empty frame sets the types, even for an event that never occurred.
    parts = {cls: [_empty(cls, fields)] for cls, fields in reads.items()}
    for batches in reader.batches(reads):
        for cls, batch in batches.items():
            columns = {"seq": batch.seqs, **batch.columns}
            parts[cls].append(pl.DataFrame(columns, schema=parts[cls][0].schema))
    return {cls: pl.concat(found) for cls, found in parts.items()}


def _empty(cls: type[Event], fields: tuple[str, ...]) -> pl.DataFrame:
    kinds = {name: arrow_type(shapes_of(cls)[name]) for name in fields}
    empty = pl.from_arrow(pa.schema({"seq": pa.int64(), **kinds}).empty_table())
    assert isinstance(empty, pl.DataFrame)
    return empty
