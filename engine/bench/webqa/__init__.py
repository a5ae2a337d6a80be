"""WebQuestions: short questions from a search engine's log, without context, each with a list of right answers."""
