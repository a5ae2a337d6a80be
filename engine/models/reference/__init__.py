"""`builtin/reference`: a guidance tier that writes by rule, without a model, from reference solutions."""
