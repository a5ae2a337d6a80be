"""`builtin/analogist`: solves word problems by analogy. It knows school arithmetic and some English."""
