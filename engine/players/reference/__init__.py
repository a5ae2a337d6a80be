"""`builtin/reference`: writes by rule what the guidance tier is asked for, from reference solutions."""
