"""Room 10. Reports: what people read: tables, plots, HTML, JSON."""
