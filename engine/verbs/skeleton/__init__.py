"""The skeleton of a plugin: a benchmark of your own as a package with a passing test, to be filled in."""
