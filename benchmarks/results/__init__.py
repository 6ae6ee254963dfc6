"""The tables of docs/results.md: configs, a resumable runner, and the page."""
