"""The tables of the generator: task types, their chains of operations, and how each may be told."""
