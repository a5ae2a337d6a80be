"""The rules as pure functions: same values in, same values out; no clock, no model, no file."""
