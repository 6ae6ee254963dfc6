"""Reports of results: tables, plots, HTML pages, Markdown and LaTeX."""
