"""The names of what finds candidates: what a command offers before anything is loaded."""

ENGINES = ("auto", "scan", "faiss")
