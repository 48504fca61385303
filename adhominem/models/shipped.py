"""The models that come with the package, by name."""

from __future__ import annotations

from pathlib import Path

from adhominem.errors import ModelError

DEFAULT_MODEL = "general-en"
_SHIPPED = Path(__file__).parent / "shipped"


def shipped_models() -> list[str]:
    """The names of the models that come with the package."""
    if not _SHIPPED.is_dir():
        return []
    return sorted(path.parent.name for path in _SHIPPED.glob("*/config.json"))


def is_shipped(folder: Path) -> bool:
    """Whether a folder is that of a model, or of a member of one, that comes with the package."""
    return folder.resolve().is_relative_to(_SHIPPED.resolve())


def model_folder(model: str | Path) -> Path:
    """The folder of a model: a folder that is there, or the name of a shipped model."""
    folder = Path(model)
    if not _exists(folder) and str(model) in shipped_models():
        return _SHIPPED / str(model)
    if not _exists(folder):
        raise ModelError(
            f"there is no model folder {folder}, and no shipped model of this name; "
            f"expected a folder, or one of: {', '.join(shipped_models()) or '(none)'}"
        )
    return folder


def _exists(folder: Path) -> bool:
    try:
        return folder.exists()
    except (OSError, ValueError):  # a name too long, or with a NUL, or not ours to look at
        return False
