"""Where a model's attention was, and what speaks for and against one author."""
