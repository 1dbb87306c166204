"""The figures of a report, on its page and as files for papers."""

from facetmt.report.figures.export import write_figures

__all__ = ["write_figures"]
