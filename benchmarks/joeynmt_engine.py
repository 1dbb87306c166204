"""JoeyNMT 2.3.0 with the weights of one of our runs: the same model, so that only the search differs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

REQUIREMENTS = ["torch==2.13.0", "joeynmt==2.3.0", "importlib_metadata", "sentencepiece<0.2.1"]
ORDER = [1, 0, 2, 3]  # our ids of its first four symbols: UNK, PAD, BOS, EOS
POSITIONS = 5000  # rows of its table of positions
# reads weights.npz and writes a checkpoint; runs in JoeyNMT's environment
PACK = """
import sys, numpy, torch
weights = {name: torch.from_numpy(array) for name, array in numpy.load(sys.argv[1]).items()}
torch.save({"model_state": weights}, sys.argv[2])
"""


def environment(build: Path) -> Path:
    """Python of an environment with JoeyNMT, created at the first call."""
    python = build / "joeynmt-venv" / "bin" / "python"
    done = build / "joeynmt-venv" / "complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(build / "joeynmt-venv")], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        done.touch()
    return python.absolute()


def run_joeynmt(python: Path, folder: Path, verb: str, config: Mapping[str, Any], *options: str) -> None:
    """One JoeyNMT command; its configuration is JSON, which YAML contains."""
    path = folder / "config.yaml"
    path.write_text(json.dumps(config), "utf-8")
    command = [str(python), "-m", "joeynmt", verb, str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise SystemExit(f"JoeyNMT failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def write_vocabulary(folder: Path, model: bytes) -> None:
    """spm.model and vocabulary.txt, in the order of SentencePiece's ids."""
    (folder / "spm.model").write_bytes(model)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spm.model"))
    plain = [i for i in range(len(pieces)) if not pieces.is_control(i) and not pieces.is_unknown(i)]
    words = [pieces.id_to_piece(i) for i in plain]  # JoeyNMT has four symbols of its own
    (folder / "vocabulary.txt").write_text("\n".join(words) + "\n", "utf-8")


def text_side(folder: Path, language: str, longest: int) -> dict[str, Any]:
    """One side of the text."""
    return {
        "lang": language,
        "level": "bpe",
        "max_length": longest,
        "voc_file": str(folder / "vocabulary.txt"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "spm.model")},
    }


def architecture(width: int, mlp: int, heads: int, layers: tuple[int, int]) -> dict[str, Any]:
    """A pre-norm Transformer with tied embeddings."""
    block = {
        "type": "transformer",
        "num_heads": heads,
        "embeddings": {"embedding_dim": width, "scale": True, "dropout": 0.1},
        "hidden_size": width,
        "ff_size": mlp,
        "dropout": 0.1,
        "layer_norm": "pre",
    }
    return {
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**block, "num_layers": layers[0]},
        "decoder": {**block, "num_layers": layers[1]},
    }


def read_lines(path: Path) -> list[str]:
    return path.read_text("utf-8").removesuffix("\n").split("\n")


class JoeyEngine:
    """Decodes by JoeyNMT's own command, which starts anew each time; the seconds are those that it logs."""

    def __init__(
        self, run: Path, settings: Sequence[str], build: Path, lines: Sequence[str], cores: Sequence[int]
    ) -> None:
        import jax

        from facetmt.train.restore import load_model

        model = load_model(run, settings)
        vocabulary, shape = model.codec.vocabulary, model.recipe.model.shape
        if len(vocabulary.models) > 1 or vocabulary.tags or not model.recipe.model.tied:
            raise SystemExit(f"{run}: only a tied model with one vocabulary and no tags can be compared")
        self.cores = cores
        self.python, self.folder = environment(build), (build / "joeynmt-engine").absolute()
        self.codec, self.facet = model.codec, model.codec.facets[0]
        self.folder.mkdir(parents=True, exist_ok=True)
        write_vocabulary(self.folder, vocabulary.models[0])
        np.savez(self.folder / "weights.npz", **weights_of(jax.tree.map(np.asarray, model.params)))
        files = [str(self.folder / name) for name in ("weights.npz", "best.ckpt")]
        subprocess.run([str(self.python), "-c", PACK, *files], check=True)
        languages = self.facet.source_language, self.facet.target_language
        for language in languages:  # it also reads references; their content does not affect speed
            (self.folder / f"test.{language}").write_text("\n".join(lines) + "\n", "utf-8")
        decode = model.decode
        self.config = {
            "name": "engine",
            "model_dir": str(self.folder),
            "use_cuda": False,
            "data": {
                "train": None,
                "dev": None,
                "test": str(self.folder / "test"),
                "dataset_type": "plain",
                "src": text_side(self.folder, languages[0], decode.max_source),
                "trg": text_side(self.folder, languages[1], decode.max_source),
            },
            "training": {"batch_size": decode.batch, "logging_freq": 1, "validation_freq": 1},
            "testing": {
                "load_model": str(self.folder / "best.ckpt"),
                "beam_size": decode.beam,
                "beam_alpha": decode.length_penalty,
                "batch_type": "sentence",
                "batch_size": decode.batch,
                "max_output_length": decode.max_length,
            },
            "model": architecture(
                shape.width, shape.mlp, shape.heads, (shape.encoder_layers, shape.decoder_layers)
            ),
        }

    def measure(self) -> dict[str, Any]:
        """As the other engines answer."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cores)  # its process inherits them
        try:
            options = "--output-path", str(self.folder / "hypotheses")
            run_joeynmt(self.python, self.folder, "test", self.config, *options)
        finally:
            os.sched_setaffinity(0, before)
        log = (self.folder / "test.log").read_text("utf-8")
        outputs = read_lines(self.folder / "hypotheses.test")
        tokens = sum(len(ids) for ids in self.codec.encode_target(outputs, self.facet.name))
        seconds = float(re.findall(r"Generation took ([\d.]+)", log)[-1])
        return {"seconds": seconds, "tokens": tokens, "outputs": outputs}

    def close(self) -> None:
        """Nothing runs between measurements."""


def weights_of(params: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    """Our parameters under JoeyNMT's names; biases that we lack are 0, symbols in its order."""
    from facetmt.model.primitives import position_table

    embedding = np.array(params["target_embedding"]["embedding"])
    embedding[: len(ORDER)] = embedding[ORDER]
    width = embedding.shape[1]
    found = dict.fromkeys(
        ("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight"), embedding
    )

    def linear(name: str, kernel: Any, bias: Any = None) -> None:
        found[f"{name}.weight"] = np.ascontiguousarray(np.asarray(kernel).T)
        found[f"{name}.bias"] = np.zeros(kernel.shape[1], np.float32) if bias is None else np.asarray(bias)

    def norm(name: str, given: Mapping[str, Any]) -> None:
        found[f"{name}.weight"], found[f"{name}.bias"] = (
            np.asarray(given["scale"]),
            np.asarray(given["shift"]),
        )

    def attention(name: str, fused: Sequence[Any], out: Any) -> None:
        query, key, value = np.split(np.concatenate(fused, axis=1), 3, axis=1)
        for part, kernel in (("q", query), ("k", key), ("v", value)):
            linear(f"{name}.{part}_layer", kernel)
        linear(f"{name}.output_layer", out)

    for side, first_norm in (("encoder", "layer_norm"), ("decoder", "x_layer_norm")):
        found[f"{side}.pe.pe"] = position_table(POSITIONS, width)[None]
        norm(f"{side}.layer_norm", params[f"{side}_norm"])
        for number, block in params[side].items():
            layer = f"{side}.layers.{number}"
            own = block["attention"]
            norm(f"{layer}.{first_norm}", block["attention_norm"])
            name = "src_src_att" if side == "encoder" else "trg_trg_att"
            attention(f"{layer}.{name}", [own["query_key_value"]["kernel"]], own["out"]["kernel"])
            if side == "decoder":
                other = block["source"]
                norm(f"{layer}.dec_layer_norm", block["source_norm"])
                fused = [other["query"]["kernel"], other["key_value"]["kernel"]]
                attention(f"{layer}.src_trg_att", fused, other["out"]["kernel"])
            norm(f"{layer}.feed_forward.layer_norm", block["mlp_norm"])
            for index, part in ((0, "widen"), (3, "narrow")):
                given = block["mlp"][part]
                linear(f"{layer}.feed_forward.pwff_layer.{index}", given["kernel"], given["bias"])
    return found
