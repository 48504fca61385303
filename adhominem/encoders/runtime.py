"""The exported network at work: documents to LEVs by ONNX Runtime, without torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import ModelError
from adhominem.text.vocabulary import Vocabulary
from adhominem.text.windows import WindowOptions, count_windows, spread_windows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_WINDOWS_AT_ONCE = 2_000  # in one run of the graph: some 100 MB


class Runtime:
    """The graph of one model, ready to run."""

    def __init__(
        self, graph: Path, vocabulary: Vocabulary, windows: WindowOptions, threads: int = 0
    ) -> None:
        import onnxruntime  # 60 ms, which `import adhominem` shall not pay for

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads  # 0: as many as there are cores
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                graph.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # the library's own errors have no common root
            raise ModelError(
                f"{graph} is damaged ({error}); fetch or train the model again"
            ) from None
        self._vocabulary = vocabulary
        self._windows = windows

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> FloatArray:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        levs: FloatArray | None = None
        for some in self._batches(lengths):
            found = self._run([documents[at] for at in some], [topics[at] for at in some])
            if levs is None:
                levs = np.zeros((len(documents), found.shape[1]))
            levs[some] = found
        return np.zeros((0, 0)) if levs is None else levs

    def _batches(self, lengths: IntArray) -> Iterator[IntArray]:
        """Documents of like length together: little padding over the windows of a document."""
        order = np.argsort(lengths, kind="stable")
        windows = np.minimum(
            count_windows(lengths[order], self._windows), self._windows.max_windows
        )
        batch = np.cumsum(windows) // _WINDOWS_AT_ONCE
        for number in np.unique(batch):
            yield order[batch == number]

    def _run(self, documents: list[Sequence[str]], topics: list[Sequence[str]]) -> FloatArray:
        (levs,) = self._session.run(["levs"], self.inputs(documents, topics))
        return np.asarray(levs, dtype=np.float64)

    def inputs(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> dict[str, npt.NDArray[Any]]:
        """What the graph takes: see `encoders.network.Batch`."""
        lexicon: dict[str, int] = {}
        numbered = [lexicon.setdefault(token, len(lexicon)) for token in chain(*documents)]
        tokens = np.array(numbered, dtype=np.int64)  # all documents in a row
        lengths = np.array([len(each) for each in documents], dtype=np.int64)
        table = spread_windows(lengths, self._windows)
        begins = (np.cumsum(lengths) - lengths)[table.documents] + table.starts  # (windows,)
        place = np.minimum(np.arange(self._windows.width), table.counts[:, None] - 1)
        topic_words = self._vocabulary.token_ids(list(chain(*topics)))
        owners = np.repeat(np.arange(len(topics)), [len(topic) for topic in topics])
        types = list(lexicon)
        return {
            "type_words": self._vocabulary.token_ids(types).astype(np.int64),
            "type_characters": self._vocabulary.character_ids(types).astype(np.int64),
            "tokens": tokens[begins[:, None] + place],
            "token_counts": table.counts,
            "window_documents": table.documents,
            "window_positions": table.positions,
            "topic_words": topic_words.astype(np.int64),
            "topic_documents": owners.astype(np.int64),
            "grid": np.zeros((len(documents), int(table.positions.max()) + 1), dtype=np.float32),
        }
