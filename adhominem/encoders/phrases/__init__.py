"""Phrases: a few words in a row, of any kind, weighted by how rare they are."""
