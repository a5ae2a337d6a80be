"""Corpora to search: a folder of documents, Wikipedia."""
