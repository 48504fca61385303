"""The trained network as an ONNX graph: what runs at inference, without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from adhominem.encoders.network import Batch, Network
from adhominem.encoders.options import EncoderOptions
from adhominem.errors import ModelError
from adhominem.text.vocabulary import SPECIAL

if TYPE_CHECKING:
    from onnx import ModelProto

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


class _Graph(nn.Module):
    """The network on plain tensors. `grid` is (documents, windows); only its shape counts."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        type_words: Tensor,
        type_characters: Tensor,
        tokens: Tensor,
        token_counts: Tensor,
        window_documents: Tensor,
        window_positions: Tensor,
        topic_words: Tensor,
        topic_documents: Tensor,
        grid: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        documents, max_windows = grid.shape
        encoded = self.network(
            Batch(
                type_words,
                type_characters,
                tokens,
                token_counts,
                window_documents,
                window_positions,
                max_windows,
                topic_words,
                topic_documents,
                documents,
            )
        )
        return encoded.levs, encoded.token_attention, encoded.window_attention


def graph_inputs(batch: Batch) -> dict[str, Tensor]:
    """A batch as the graph takes it."""
    named = {name: getattr(batch, name) for name in INPUTS if name != "grid"}
    return {**named, "grid": torch.zeros(batch.documents, batch.max_windows)}


def export_onnx(network: Network, example: Batch, path: Path) -> None:
    """Write the graph; every axis that the example shows by chance is left open.

    In a process of its own: the exporter teaches torch to unroll LSTMs, so that a second export
    in the same process fails.
    """
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        save_file(
            {name: value.contiguous() for name, value in network.state_dict().items()},
            folder / "network.safetensors",
        )
        save_file(graph_inputs(example), folder / "example.safetensors")
        (folder / "options.json").write_text(json.dumps(asdict(network.options)), "utf-8")
        here = str(Path(__file__).parents[2])  # where the package lies, installed or not
        done = subprocess.run(
            [sys.executable, "-m", "adhominem.encoders.export", scratch, str(path.resolve())],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise ModelError(
            f"the network could not be exported to ONNX: {done.stderr.strip()[-2000:]}"
        )


def _export(folder: Path, path: Path) -> None:
    """In the other process: read the network and the example, write the graph."""
    weights = load_file(folder / "network.safetensors")
    options = EncoderOptions(**json.loads((folder / "options.json").read_text("utf-8")))
    network = Network(
        len(weights["word_vectors.weight"]) - len(SPECIAL),
        len(weights["characters.embedding.weight"]) - len(SPECIAL),
        options,
    )
    network.load_state_dict(weights)
    example = load_file(folder / "example.safetensors")
    open_axes = {
        name: dict.fromkeys(range(len(axes)), torch.export.Dim.DYNAMIC)
        for name, axes in INPUTS.items()
    }
    program = torch.onnx.export(
        _Graph(network).eval(),
        kwargs={name: example[name] for name in INPUTS},  # names go by the order
        dynamic_shapes=open_axes,
        dynamo=True,
        opset_version=18,
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        verbose=False,
    )
    assert program is not None
    model = program.model_proto
    _name_axes(model)
    for node in model.graph.node:  # where in whose source code it came from: no part of the model
        del node.metadata_props[:]
        node.doc_string = ""
    path.write_bytes(model.SerializeToString())


def _name_axes(model: ModelProto) -> None:
    """Say which axes are open, by name.

    The exporter takes the length of an LSTM's sequence from the example. The graph computes with
    any length; only the shapes that it states are wrong.
    """
    del model.graph.value_info[:]
    for value in (*model.graph.input, *model.graph.output):
        axes = INPUTS.get(value.name) or OUTPUTS[value.name]
        for size, name in zip(value.type.tensor_type.shape.dim, axes, strict=False):
            size.dim_param = name


if __name__ == "__main__":
    _export(Path(sys.argv[1]), Path(sys.argv[2]))
