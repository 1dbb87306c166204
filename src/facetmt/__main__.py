"""`facetmt` and `python -m facetmt`: the command line, or the extra that would install it."""

import importlib.util
import sys

# Packages by the name they are imported by, and the extra of facetmt that brings them.
EXTRAS = {
    "flax": "mt",
    "jax": "mt",
    "orbax": "mt",
    "plotly": "mt",
    "pydantic": "mt",
    "yaml": "mt",
    "rich": "mt",
    "sacrebleu": "mt",
    "sacremoses": "mt",
    "sentencepiece": "mt",
    "typer": "mt",
    "optuna": "tune",
    "kaleido": "figures",
    "tensorboardX": "tensorboard",
    "ctranslate2": "ctranslate2",
    "safetensors": "ctranslate2",
    "torch": "torch",
    "accelerate": "hf",
    "datasets": "hf",
    "transformers": "hf",
}


def main() -> None:
    """Run a verb; where its package is not installed, one sentence says which extra to add (exit code 2)."""
    try:
        from facetmt.cli import main as run

        run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        # a missing module of a package that is there is a fault, not a matter of installing
        if package not in EXTRAS or importlib.util.find_spec(package) is not None:
            raise
        sys.stderr.write(
            f"facetmt: this needs the package {package}, which is not installed; "
            f"pip install 'facetmt[{EXTRAS[package]}]'\n"
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
