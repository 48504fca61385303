"""Where a model looked, what speaks for and against one author, and reports of a case."""
