"""Chunks in C are those of Python's `split`, and are remembered alike."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.compiled import compiled
from adhominem.text.lexicon import Chunks, PythonChunks

module = compiled("adhominem.text._chunks")
if module is None:
    pytest.skip("the parts in C were not built", allow_module_level=True)

any_text = st.text(
    st.characters() | st.sampled_from(" \n\t\u00a0\u2003\u3000\ud800ab"), max_size=30
)


def numbers_of(chunk: str) -> bytes:
    return np.array([len(chunk), *map(ord, chunk)], np.int64).tobytes()


@given(st.lists(any_text, max_size=8), st.integers(0, (1 << 64) - 1))
def test_texts_are_looked_up_as_python_does(texts: list[str], seed: int) -> None:
    compiled_chunks: Chunks = module.Chunks(seed)
    plain: Chunks = PythonChunks()
    for text in (*texts, *texts):
        found = compiled_chunks.look_up(text)
        assert found == plain.look_up(text)
        for chunk in found[1]:
            for chunks in (compiled_chunks, plain):
                chunks.add(chunk, numbers_of(chunk))
        whole = b"".join(map(numbers_of, text.split()))
        assert compiled_chunks.look_up(text) == plain.look_up(text) == (whole, [])


def test_white_space_is_what_python_takes_for_it() -> None:
    chunks = module.Chunks(0)
    for code in range(sys.maxunicode + 1):
        text = f"a{chr(code)}b"
        if chr(code).isspace() or code % 97 == 0:
            assert chunks.look_up(text)[1] == text.split(), hex(code)
    joined = "".join(f"{chr(code)}x" for code in range(0x3001))
    assert chunks.look_up(joined)[1] == joined.split()


def test_many_chunks_are_remembered() -> None:
    chunks, names = module.Chunks(5), [f"{number:x}" for number in range(20_000)]
    for name in names:
        chunks.add(name, numbers_of(name))
    assert chunks.look_up(" ".join(names)) == (b"".join(map(numbers_of, names)), [])


def test_what_is_no_chunk_is_refused() -> None:
    chunks = module.Chunks(0)
    with pytest.raises(ValueError, match="64 bits"):
        chunks.add("a", b"123")
    with pytest.raises(TypeError):
        chunks.add(b"a", bytes(8))
    with pytest.raises(TypeError):
        chunks.look_up(b"a")
