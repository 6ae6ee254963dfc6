"""What computes the parts of each table; experiments are those of protocols and recipes."""
