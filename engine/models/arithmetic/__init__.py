"""Reading word problems without a language model: quantities in prose, equations in reasoning, what goes with what.

Shared by the two embedded models. Exact throughout: values are `fractions.Fraction`.
"""
