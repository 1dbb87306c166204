"""The page of a report."""

from facetmt.report.page.render import write_report

__all__ = ["write_report"]
