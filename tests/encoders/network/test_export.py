"""The exported graph says what the trained network says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import SmallRun

from adhominem.encoders.network.export import INPUTS, OUTPUTS, export_onnx, graph_inputs
from adhominem.encoders.network.network import Batch, Network
from adhominem.encoders.network.options import EncoderOptions

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def network(small_run: SmallRun) -> Network:
    """The network as it was trained, in torch."""
    words = small_run.model.vocabulary
    network = Network(len(words.token_types), len(words.characters), small_run.config.encoder)
    prefix = "network."
    network.load_state_dict(
        {
            name.removeprefix(prefix): torch.from_numpy(value.copy())
            for name, value in small_run.model.weights.items()
            if name.startswith(prefix)
        }
    )
    return network.eval()


@pytest.fixture(scope="module")
def session(small_run: SmallRun) -> object:
    return onnxruntime.InferenceSession(
        small_run.folder / "encoder.onnx", providers=["CPUExecutionProvider"]
    )


def random_batch(
    run: SmallRun, documents: int, max_windows: int, topic_tokens: int, seed: int
) -> Batch:
    rng = np.random.default_rng(seed)
    words, width = run.model.vocabulary, run.config.data.windows.width
    per_document = rng.integers(1, max_windows + 1, documents)
    windows, types = int(per_document.sum()), int(rng.integers(1, 30))
    positions = np.concatenate([np.arange(count) for count in per_document])

    def integers(low: int, high: int, shape: object) -> torch.Tensor:
        return torch.from_numpy(rng.integers(low, high, shape))  # type: ignore[call-overload]

    lengths = rng.integers(1, words.characters_per_token + 1, types)
    characters = integers(1, len(words.characters) + 2, (types, words.characters_per_token))
    beyond = np.arange(words.characters_per_token) >= lengths[:, None]
    return Batch(
        type_words=integers(1, len(words.token_types) + 2, types),
        type_characters=characters.masked_fill(torch.from_numpy(beyond), 0),
        tokens=integers(0, types, (windows, width)),
        token_counts=integers(1, width + 1, windows),
        window_documents=torch.from_numpy(np.repeat(np.arange(documents), per_document)),
        window_positions=torch.from_numpy(positions),
        max_windows=int(per_document.max()),
        topic_words=integers(1, len(words.token_types) + 2, topic_tokens),
        topic_documents=integers(0, documents, topic_tokens),
        documents=documents,
    )


@pytest.mark.parametrize("topic_tokens", [0, 1, 5])
@pytest.mark.parametrize(("documents", "max_windows"), [(1, 1), (1, 7), (2, 3), (17, 9)])
def test_the_graph_computes_what_the_network_computes(
    documents: int,
    max_windows: int,
    topic_tokens: int,
    small_run: SmallRun,
    network: Network,
    session: object,
    capfd: pytest.CaptureFixture[str],
) -> None:
    levs = []
    for seed in range(3):
        batch = random_batch(small_run, documents, max_windows, topic_tokens, seed)
        with torch.no_grad():
            encoded = network(batch)
        inputs = {name: value.numpy() for name, value in graph_inputs(batch).items()}
        found = session.run(list(OUTPUTS), inputs)  # type: ignore[attr-defined]
        for name, value in zip(OUTPUTS, found, strict=True):
            expected = getattr(encoded, name).numpy()
            assert value.shape == expected.shape
            np.testing.assert_allclose(value, expected, atol=1e-5)
        levs.append(found[0])
    assert np.abs(levs[0] - levs[1]).max() > 1e-3
    assert capfd.readouterr().err == ""  # onnxruntime warns there of shapes that do not fit


def test_the_axes_of_inputs_and_outputs_have_names(small_run: SmallRun) -> None:
    graph = onnx.load(small_run.folder / "encoder.onnx").graph

    def shapes(values: object) -> dict[str, list[object]]:
        return {
            value.name: [
                axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim
            ]
            for value in values  # type: ignore[attr-defined]
        }

    width, encoder = small_run.config.data.windows.width, small_run.config.encoder
    assert shapes(graph.input) == {
        "type_words": ["types"],
        "type_characters": ["types", 15],
        "tokens": ["windows", width],
        "token_counts": ["windows"],
        "window_documents": ["windows"],
        "window_positions": ["windows"],
        "topic_words": ["topic_tokens"],
        "topic_documents": ["topic_tokens"],
        "grid": ["documents", "max_windows"],
    }
    assert shapes(graph.output) == {
        "levs": ["documents", encoder.lev_size],
        "token_attention": ["windows", 1 + width],
        "window_attention": ["documents", "max_windows"],
    }
    assert list(INPUTS) == [value.name for value in graph.input]


def test_the_graph_is_one_file_and_passes_the_checker(small_run: SmallRun) -> None:
    model = onnx.load(small_run.folder / "encoder.onnx", load_external_data=False)
    onnx.checker.check_model(model, full_check=True)
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert b".py" not in (small_run.folder / "encoder.onnx").read_bytes()  # nobody's folders


def test_the_graph_runs_without_torch(small_run: SmallRun, tmp_path: Path) -> None:
    batch = random_batch(small_run, 2, 3, 2, 0)
    np.savez(
        tmp_path / "inputs.npz",
        **{name: value.numpy() for name, value in graph_inputs(batch).items()},  # type: ignore[arg-type]
    )
    code = (
        "import sys, numpy, onnxruntime\n"
        f"run = onnxruntime.InferenceSession({str(small_run.folder / 'encoder.onnx')!r}).run\n"
        f"levs, *_ = run(None, dict(numpy.load({str(tmp_path / 'inputs.npz')!r})))\n"
        "print(levs.shape, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "(2, 5) False"


def test_a_second_network_can_be_exported_by_the_same_process(tmp_path: Path) -> None:
    network = Network(4, 5, EncoderOptions(word_vector_size=3, lev_size=2))
    batch = Batch(
        type_words=torch.tensor([2, 3]),
        type_characters=torch.tensor([[2, 3, 0], [4, 0, 0]]),
        tokens=torch.tensor([[0, 1], [1, 0], [0, 0]]),
        token_counts=torch.tensor([2, 1, 2]),
        window_documents=torch.tensor([0, 0, 1]),
        window_positions=torch.tensor([0, 1, 0]),
        max_windows=2,
        topic_words=torch.tensor([2, 2, 3]),
        topic_documents=torch.tensor([0, 0, 1]),
        documents=2,
    )
    for name in ("first.onnx", "second.onnx"):
        export_onnx(network, batch, tmp_path / name)
    assert (tmp_path / "first.onnx").read_bytes() == (tmp_path / "second.onnx").read_bytes()
