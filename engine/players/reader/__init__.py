"""`builtin/reader`: answers questions in prose by finding their words in what its prompt quotes."""
