"""`builtin/analogist`: an execution model that is not a language model.

It reads quantities and equations by rule, and carries the operations of worked examples in its prompt over to
the question at hand. It sees the prompt and nothing else, and knows only school arithmetic and some English.
"""
