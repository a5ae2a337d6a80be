"""Search: looking something up in a question's own paragraphs, or in a corpus that a wing of the engine or a package
offers."""
