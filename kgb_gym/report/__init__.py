"""Reports: the paper's tables with your numbers, and one self-contained HTML page of a run."""

from kgb_gym.report.page import render_page, write_page
from kgb_gym.report.paper import comparison_tables, paper_tables, summary_tables
from kgb_gym.report.tables import Table

__all__ = ["Table", "comparison_tables", "paper_tables", "render_page", "summary_tables", "write_page"]
