"""The skeletons of plugins: each a package with a passing test, to be filled in."""
