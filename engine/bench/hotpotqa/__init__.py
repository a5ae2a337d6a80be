"""HotpotQA: questions whose answers need facts from two of the paragraphs that come with them."""
