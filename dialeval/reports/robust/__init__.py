"""Reports of training against perturbations: tables, and one HTML page (Niu and Bansal, 2018)."""

from dialeval.reports.robust.html import write_robust_report
from dialeval.reports.robust.progress import RobustProgress
from dialeval.reports.robust.rows import robust_grids

__all__ = ["RobustProgress", "robust_grids", "write_robust_report"]
