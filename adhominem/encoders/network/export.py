"""The trained network as an ONNX graph: what runs at inference, without torch."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from adhominem.encoders.network.network import Batch, Network

# The axes of each input and output that differ from batch to batch; the others are fixed.
INPUTS = {
    "type_words": ("types",),
    "type_characters": ("types",),
    "tokens": ("windows",),
    "token_counts": ("windows",),
    "window_documents": ("windows",),
    "window_positions": ("windows",),
    "topic_words": ("topic_tokens",),
    "topic_documents": ("topic_tokens",),
    "grid": ("documents", "max_windows"),
}
OUTPUTS = {
    "levs": ("documents",),
    "token_attention": ("windows",),
    "window_attention": ("documents", "max_windows"),
}
_AXES = {**INPUTS, **OUTPUTS}


class _Graph(nn.Module):
    """The network on plain tensors. `grid` is (documents, windows); only its shape counts."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        *named, grid = tensors
        documents, max_windows = grid.shape
        batch = dict(zip(INPUTS, named, strict=False))  # the last input is the grid
        encoded = self.network(Batch(**batch, max_windows=max_windows, documents=documents))
        return encoded.levs, encoded.token_attention, encoded.window_attention


def graph_inputs(batch: Batch) -> dict[str, Tensor]:
    """A batch as the graph takes it."""
    named = {name: getattr(batch, name) for name in INPUTS if name != "grid"}
    return {**named, "grid": torch.zeros(batch.documents, batch.max_windows)}


def export_onnx(network: Network, example: Batch, path: Path) -> None:
    """Write the graph; every axis that the example shows by chance is left open.

    By torch's older exporter: the newer one unrolls LSTMs or fixes their length, depending on
    the version of torch.
    """
    import onnx  # not everybody who trains has it

    inputs = graph_inputs(example)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on its age, and on what the tests show to be harmless
        torch.onnx.export(
            _Graph(network).eval(),
            tuple(inputs[name] for name in INPUTS),
            path,
            dynamo=False,
            opset_version=18,
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes={name: dict(enumerate(axes)) for name, axes in _AXES.items()},
        )
    model = onnx.load(path)
    for node in model.graph.node:  # where in whose source code it came from: no part of the model
        node.doc_string = ""
    path.write_bytes(model.SerializeToString())
