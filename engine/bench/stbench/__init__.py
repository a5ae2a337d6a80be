"""STBench: spatio-temporal tasks in thirty-seven files, each question a text to continue."""
