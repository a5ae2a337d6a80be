"""Serving: what a run learned, added to the requests of live traffic, and what people say about the replies."""
