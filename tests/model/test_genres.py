"""The genres in words."""

from pathlib import Path

import pytest

from adhominem import load
from adhominem.errors import ModelError
from adhominem.model.folder import model_folder, read_genre_names
from adhominem.verify.verification import Likeness


def test_a_model_without_words_for_its_kinds_has_none(tmp_path: Path) -> None:
    assert read_genre_names(tmp_path) == {}
    assert Likeness({"wright": 1.0}, 0.5).name("wright") == "wright"


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', "no JSON", '"a"'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "genres.json").write_text(text, "utf-8")
    with pytest.raises(ModelError, match=r"is damaged \(genres\.json: .*mend or remove it"):
        read_genre_names(tmp_path)


def test_the_shipped_model_has_words_for_all_its_kinds() -> None:
    verifier = load()
    assert set(verifier.genres) == set(verifier.genre_names)
    assert read_genre_names(model_folder("general-en")) == verifier.genre_names
    recipe = Path(__file__).parents[2] / "recipes" / "general-en"
    assert read_genre_names(recipe) == verifier.genre_names
