"""`builtin/reader`: a deterministic model for questions in prose that looks for answers in what its prompt holds."""
