"""HotpotQA: questions whose answer takes facts from two of the paragraphs that come with them."""
