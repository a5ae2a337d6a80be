"""Serving: what a run learned, put before the questions of live traffic, and what people say about the replies."""
