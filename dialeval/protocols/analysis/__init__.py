"""What a discriminator looks at: the analyses of two papers, and more."""

from dialeval.protocols.analysis.study import analyse

__all__ = ["analyse"]
