"""Reading word problems by rule: quantities in prose, equations in reasoning, analogies. Values are exact."""
