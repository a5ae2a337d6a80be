"""`builtin/reference`: writes what the guidance tier is asked for by rule, from reference solutions."""
