"""STBench: spatio-temporal tasks in thirty-seven files, each question a text that is to be continued."""
