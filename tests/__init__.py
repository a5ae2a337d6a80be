"""The tests: a package, so that no other distribution's `tests` (opensimplex ships one) can stand in its place."""
