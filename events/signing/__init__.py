"""Signed heads: the tree over a log's events, notes and their keys, and signing the present head."""
