"""`builtin/reader`: answers questions in prose by finding words again in what its prompt quotes."""
