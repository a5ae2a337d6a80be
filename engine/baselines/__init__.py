"""Other ways to answer than MAGE's, with the same model, questions, extraction and scorer: baselines and methods.

`table.py` finds them by name among the entry points; a run, an exam and a table of results take one by its name.
"""
