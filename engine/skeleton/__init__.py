"""The skeleton of a plugin: a benchmark of one's own as a package with a passing test, to be filled in."""
