"""Sealed segments: typed Parquet files that are written once, and the columns that folds read from them."""

from mage_es.events.segments.batches import Batch, Batches, Columns, Reads

__all__ = ["Batch", "Batches", "Columns", "Reads"]
