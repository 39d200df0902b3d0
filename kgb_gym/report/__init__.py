"""Reports: the paper's tables and figures with your numbers, and one self-contained HTML page of a run."""

from kgb_gym.report.page import render_page, write_page
from kgb_gym.report.paper import comparison_tables, paper_tables, summary_tables
from kgb_gym.report.plots import PlotsMissing, write_plots
from kgb_gym.report.tables import Table, failure_table

__all__ = [
    "PlotsMissing",
    "Table",
    "comparison_tables",
    "failure_table",
    "paper_tables",
    "render_page",
    "summary_tables",
    "write_page",
    "write_plots",
]
