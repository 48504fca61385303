"""Many texts, kept as LEVs: built, searched for an author's other texts, linked."""
