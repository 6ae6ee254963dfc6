"""Room 9. Protocols: the experiments, put together from passages, scorers and metrics."""
