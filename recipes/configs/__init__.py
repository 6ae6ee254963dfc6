"""Settings of the recipes as YAML files; installed as `dialeval.configs`."""
