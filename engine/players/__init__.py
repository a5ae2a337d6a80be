"""Stand-ins: embedded players that answer by rule, so that every benchmark runs without a language model.

They parse the prompts that the engine writes for language models, and know nothing else: no benchmark, gold answer,
store, clock or random source, and no memory between calls. Prompts are worded for language models, and the stand-ins
adapt. Their scores show that the machinery works, not what MAGE is worth.

    builtin/analogist    execution   word problems, by analogy with the worked examples in the prompt
    builtin/copier       execution   any question or episode, by repeating what the prompt shows
    builtin/reference    guidance    every brief, from reference solutions

`engine/players/players.py` registers them by name. Nothing outside this package imports it.
"""
