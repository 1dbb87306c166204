"""A model in CTranslate2's own format, through the library's specification and converter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facetmt.data.vocab import Vocabulary
from facetmt.errors import UserError
from facetmt.export.folder import required
from facetmt.model.config import ModelConfig
from facetmt.model.primitives import position_table

EPSILON = 1e-6  # of model.primitives.normalised
POSITIONS = 1024  # least number of positions: the longest input that the library takes by default

Tree = Mapping[Any, Any]  # parameters of a Transformer, as numpy arrays
Array = NDArray[np.float32]


def write_model(
    config: ModelConfig,
    params: Tree,
    vocabulary: Vocabulary,
    folder: Path,
    *,
    quantization: str,
    positions: int,
) -> None:
    """model.bin, config.json and the vocabulary files, into a folder that does not exist yet."""
    required("ctranslate2", "ctranslate2")
    converters = required("ctranslate2.converters", "ctranslate2")
    spec = model_spec(config, params, vocabulary, positions)
    # the library's converters are classes whose one abstract method gives the specification
    converter = type("Converter", (converters.Converter,), {"_load": lambda self: spec})
    converter().convert(str(folder), quantization=quantization)


def model_spec(config: ModelConfig, params: Tree, vocabulary: Vocabulary, positions: int) -> Any:
    """Pre-norm, ReLU, embeddings scaled by √W, and our table of positions, which starts at 0 and not at 1."""
    specs = required("ctranslate2.specs", "ctranslate2")
    shape = config.shape
    spec = specs.TransformerSpec.from_config(
        (shape.encoder_layers, shape.decoder_layers), shape.heads, pre_norm=True
    )
    spec.config.layer_norm_epsilon = EPSILON
    spec.config.add_source_eos = True
    target = params["target_embedding"]["embedding"]
    source = params["source_embedding"]["embedding"] if "source_embedding" in params else target
    output = params["output"]["embedding"] if "output" in params else target
    spec.encoder.embeddings[0].weight = source
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = output
    for side, blocks, norm in (
        (spec.encoder, params["encoder"], params["encoder_norm"]),
        (spec.decoder, params["decoder"], params["decoder_norm"]),
    ):
        side.position_encodings.encodings = position_table(positions, shape.width)
        set_norm(side.layer_norm, norm)
        for number, layer in enumerate(side.layer):
            set_layer(layer, blocks[number])
    spec.register_source_vocabulary(tokens(vocabulary, "source"))
    spec.register_target_vocabulary(tokens(vocabulary, "target"))
    return spec


def set_layer(layer: Any, block: Tree) -> None:
    """One layer; the decoder's attends to the source as well."""
    own = block["attention"]
    set_attention(layer.self_attention, block["attention_norm"], [own["query_key_value"], own["out"]])
    if "source" in block:
        other = block["source"]
        set_attention(
            layer.attention, block["source_norm"], [other["query"], other["key_value"], other["out"]]
        )
    set_norm(layer.ffn.layer_norm, block["mlp_norm"])
    set_linear(layer.ffn.linear_0, block["mlp"]["widen"])
    set_linear(layer.ffn.linear_1, block["mlp"]["narrow"])


def set_attention(attention: Any, norm: Tree, projections: Sequence[Tree]) -> None:
    """The projections are fused in the same order on both sides: queries, keys, values."""
    set_norm(attention.layer_norm, norm)
    for linear, projection in zip(attention.linear, projections, strict=True):
        set_linear(linear, projection)


def set_norm(norm: Any, params: Tree) -> None:
    norm.gamma, norm.beta = params["scale"], params["shift"]


def set_linear(linear: Any, params: Tree) -> None:
    linear.weight = np.ascontiguousarray(params["kernel"].T)  # [I, O] -> [O, I]
    if params.get("bias") is not None:
        linear.bias = params["bias"]


def tokens(vocabulary: Vocabulary, side: Any) -> list[str]:
    """The symbol of each id; the library finds an id by its symbol, so no two may be spelt alike."""
    symbols = vocabulary.pieces(side)
    if len(set(symbols)) < len(symbols):
        double = next(one for one in symbols if symbols.count(one) > 1)
        raise UserError(
            f"the vocabulary has a subword that is spelt like the reserved symbol {double}, which "
            "CTranslate2 cannot tell apart; prepare without that text, or use --to safetensors"
        )
    return symbols
