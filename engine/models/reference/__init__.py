"""`builtin/reference`: a guidance tier that writes by rule, without a model, from the benchmark's reference solutions."""
