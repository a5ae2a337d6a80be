"""Search: looking something up in a question's own paragraphs, or in a corpus that a wing or a package offers."""
