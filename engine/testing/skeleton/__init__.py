"""The skeletons of plugins: each a package with a passing test, ready to be filled in."""
