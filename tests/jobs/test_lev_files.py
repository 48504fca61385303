"""LEVs in .npz files, of this version and of older ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adhominem import Verifier, load
from adhominem.errors import InputError
from adhominem.jobs.corpora import arrays_of, read_levs

TEXTS = [f"It was the {word} night of all that we had seen." for word in ("dark", "last", "first")]


@pytest.fixture(scope="module")
def verifier(mixed_folder: Path) -> Verifier:
    """An n-gram model, a network and a profile."""
    return load(mixed_folder)


def test_levs_come_back_as_they_were(verifier: Verifier, tmp_path: Path) -> None:
    levs = verifier.encode(TEXTS)
    np.savez(tmp_path / "levs.npz", **arrays_of(levs, verifier.lev_size))  # type: ignore[arg-type]
    np.savez(tmp_path / "old.npz", lev=np.asarray(levs))
    for name in ("levs.npz", "old.npz"):
        again = read_levs(tmp_path / name)
        np.testing.assert_array_equal(again, levs)
        expected = verifier.score(levs[:1], levs[1:2])
        np.testing.assert_allclose(verifier.score(again[:1], again[1:2]), expected, rtol=1e-9)


def test_the_arrays_are_those_of_a_sparse_matrix(verifier: Verifier) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    levs = verifier.encode(TEXTS)
    arrays = arrays_of(levs, verifier.lev_size)
    shape = len(arrays["lev_starts"]) - 1, int(arrays["lev_size"])
    parts = (arrays["lev_values"], arrays["lev_places"], arrays["lev_starts"])
    np.testing.assert_array_equal(sparse.csr_matrix(parts, shape).toarray(), levs)


def test_no_texts_have_an_empty_table(verifier: Verifier, tmp_path: Path) -> None:
    nothing = arrays_of(verifier.encode([]), verifier.lev_size)
    np.savez(tmp_path / "levs.npz", **nothing)  # type: ignore[arg-type]
    assert read_levs(tmp_path / "levs.npz").shape == (0, verifier.lev_size)


def test_what_is_no_such_file_is_refused(verifier: Verifier, tmp_path: Path) -> None:
    path = tmp_path / "levs.npz"
    path.write_text("no LEVs")
    with pytest.raises(InputError, match=r"levs\.npz: .*expected a \.npz file"):
        read_levs(path)
    np.savez(path, other=np.zeros(3))
    with pytest.raises(InputError, match=r"expected a \.npz file"):
        read_levs(path)
    arrays = arrays_of(verifier.encode(TEXTS), verifier.lev_size)
    for name, value in (
        ("lev_starts", arrays["lev_starts"][:-1]),
        ("lev_starts", arrays["lev_starts"][::-1]),
        ("lev_values", arrays["lev_values"][:-1]),
        ("lev_size", np.array(3)),
    ):
        np.savez(path, **{**arrays, name: value})  # type: ignore[arg-type]
        with pytest.raises(InputError, match="the LEVs do not fit together"):
            read_levs(path)
