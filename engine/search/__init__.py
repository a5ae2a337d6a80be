"""Search: looking something up in an encyclopedia, a folder of documents, or a question's own paragraphs."""
