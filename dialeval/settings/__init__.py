"""Settings of the experiments, once: defaults, help texts and checks, without heavy imports.

Command-line options, YAML files and the Python API are generated from these dataclasses.
"""
