"""The README.md of an export: what is in the folder, and code that runs as it stands."""

from __future__ import annotations

import json

from facetmt.data.codec import Codec, tag_names
from facetmt.data.vocab import MODELS
from facetmt.export.engine import search_options
from facetmt.export.folder import ABOUT, About
from facetmt.export.safetensors import FILE
from facetmt.train.best import VOCABULARY
from facetmt.translate.config import DecodeConfig

CTRANSLATE2 = """\
# {title}

A Transformer trained with facetmt {facetmt} (checkpoint of step {steps}), weights as {quantization}, for
[CTranslate2](https://opennmt.net/CTranslate2/) {engine} or later.

## With facetmt

```
facetmt translate . --engine ctranslate2 < in.txt > out.txt
```

This cleans the text, splits long lines, checks that no file of this folder has changed, and ranks hypotheses
with the length penalty the model was tuned with. Add `--facet` or `--to` if there are several languages.

## With CTranslate2 alone

Inside this folder, with `pip install {packages}`:

```python
{code}```

CTranslate2 ranks by length^{alpha} instead of ((5 + length)/6)^{alpha}, and does not split lines of more than
{max_source} tokens, so that a few translations may differ.

{tags}| file | content |
|---|---|
| `model.bin`, `config.json`, `*_vocabulary.json` | the model; at most {positions} tokens |
| `{vocabulary}/` | {models}, tags and facets |
| `{about}` | settings of model and search, hash of the vocabulary and of every file |
"""

SAFETENSORS = """\
# {title}

The parameters of a Transformer trained with facetmt {facetmt} (checkpoint of step {steps}), float32. The
layout is described in facetmt's docs/export.md. Inside this folder, with `pip install safetensors numpy`:

```python
from safetensors import safe_open

with safe_open("{file}", framework="np") as file:
    about = file.metadata()  # model, vocabulary, steps, ...
    params = {{name: file.get_tensor(name) for name in file.keys()}}
print(about["steps"], params["target_embedding.embedding"].shape)
```

| file | content |
|---|---|
| `{file}` | parameters and metadata |
| `{vocabulary}/` | {models}, tags and facets |
| `{about}` | settings of model and search, hash of the vocabulary and of every file |
"""

CODE = """\
import ctranslate2
import sentencepiece
{imports}
translator = ctranslate2.Translator(".")
source = sentencepiece.SentencePieceProcessor(model_file="{vocabulary}/{source}")
target = sentencepiece.SentencePieceProcessor(model_file="{vocabulary}/{target}")
{tools}

def translate(lines, tags={tags}):
    subwords = source.encode([{clean} for line in lines], out_type=str)
    found = translator.translate_batch(
        [[*tags, *line] for line in subwords],
{options}
    )
    return [{undo} for one in found]


print(translate([{example!r}])[0])
"""

MOSES_TOOLS = """\
normaliser, tokeniser = MosesPunctNormalizer(lang="{source}"), MosesTokenizer(lang="{source}")
detokeniser = MosesDetokenizer(lang="{target}")
"""
TRUECASE = """\
truecaser = MosesTruecaser("{vocabulary}/truecase.{source}.txt")
detruecaser = MosesDetruecaser()
"""


def ctranslate2_readme(codec: Codec, decode: DecodeConfig, about: About) -> str:
    """How to call the model, and what its tags are."""
    return CTRANSLATE2.format(
        **common(codec, about),
        quantization=about["quantization"],
        engine=about["engine"],
        positions=about["positions"],
        code=code(codec, decode),
        packages="ctranslate2 sentencepiece" + (" sacremoses" if codec.cleaner.moses else ""),
        alpha=decode.length_penalty,
        max_source=decode.max_source,
        tags=tag_table(codec),
    )


def safetensors_readme(codec: Codec, about: About) -> str:
    """How to read the parameters."""
    return SAFETENSORS.format(**common(codec, about), file=FILE)


def common(codec: Codec, about: About) -> dict[str, str]:
    """What both kinds say."""
    sources = {facet.source_language for facet in codec.facets}
    targets = {facet.target_language for facet in codec.facets}
    models = ", ".join(f"`{name}`" for name in MODELS[len(codec.vocabulary.models)])
    return {
        "title": f"Translation from {', '.join(sorted(sources))} to {', '.join(sorted(targets))}",
        "facetmt": about["facetmt"],
        "steps": " and ".join(f"{step:,}" for step in about["steps"]),
        "vocabulary": VOCABULARY,
        "models": f"SentencePiece ({models})" + (", truecasing models" if codec.cleaner.truecasers else ""),
        "about": ABOUT,
    }


def code(codec: Codec, decode: DecodeConfig) -> str:
    """A complete program for the first facet."""
    first, models = codec.facets[0], MODELS[len(codec.vocabulary.models)]
    moses, cased = codec.cleaner.moses, first.source_language in codec.cleaner.truecasers
    imports, tools = "", ""
    clean, undo = "line", "target.decode(one.hypotheses[0])"
    if moses:
        names = ["MosesDetokenizer", "MosesPunctNormalizer", "MosesTokenizer"]
        names += ["MosesDetruecaser", "MosesTruecaser"] if cased else []
        imports = f"from sacremoses import {', '.join(sorted(names))}\n"
        languages = {"source": first.source_language, "target": first.target_language}
        tools = (MOSES_TOOLS + (TRUECASE if cased else "")).format(**languages, vocabulary=VOCABULARY)
        clean = "tokeniser.tokenize(normaliser.normalize(line), return_str=True, escape=False)"
        clean = f"truecaser.truecase({clean}, return_str=True, use_known=True)" if cased else clean
        tokens = f"detruecaser.detruecase({undo})" if cased else f"{undo}.split()"
        undo = f"detokeniser.detokenize({tokens}, return_str=True, unescape=False)"
    options = {**search_options(decode, decode.max_length), "num_hypotheses": 1}
    options = {key: value for key, value in options.items() if not key.startswith("return_")}
    options["suppress_sequences"] = [[symbol] for symbol in forbidden(codec)]
    return CODE.format(
        imports=imports,
        vocabulary=VOCABULARY,
        source=models[0],
        target=models[-1],
        tools=tools,
        tags=json.dumps(tag_names(first, codec.tags), ensure_ascii=False),
        clean=clean,
        options="\n".join(
            f"        {key}={json.dumps(value, ensure_ascii=False)}," for key, value in options.items()
        ),
        undo=undo,
        example="Guten Tag!" if first.source_language == "de" else "Hello!",
    )


def forbidden(codec: Codec) -> list[str]:
    """Symbols that no translation may contain."""
    symbols = codec.vocabulary.pieces("target")
    return [symbols[index] for index in codec.vocabulary.forbidden]


def tag_table(codec: Codec) -> str:
    """The tags of each facet, where there are any."""
    if not codec.vocabulary.tags:
        return ""
    rows = [
        f"| {facet.name} | {facet.source_language}-{facet.target_language} "
        f"| {' '.join(f'`{tag}`' for tag in tag_names(facet, codec.tags))} |"
        for facet in codec.facets
    ]
    return "\n".join(["| facet | languages | tags |", "|---|---|---|", *rows]) + "\n\n"
