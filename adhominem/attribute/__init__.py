"""Who wrote it: candidates ranked by evidence, with "none of them" among the answers."""
