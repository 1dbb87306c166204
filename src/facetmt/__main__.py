"""`python -m facetmt` is `facetmt`."""

from facetmt.cli import main

if __name__ == "__main__":
    main()
