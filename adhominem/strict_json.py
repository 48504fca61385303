"""JSON that every program reads: now in `records`."""

from __future__ import annotations

from adhominem.records import parsed_json, strict_json

__all__ = ["parsed_json", "strict_json"]
