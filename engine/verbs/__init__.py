"""The verbs of the command line as Python functions, one module each: `from mage_es.engine.verbs.evolve import evolve`.

Nothing is imported here: a verb named like its module would shadow it, and the command line loads only what it runs.
"""
