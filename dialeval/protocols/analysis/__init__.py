"""What a discriminator looks at: the analyses of two papers, and more; `study` runs them.

Nothing is imported here: `features` is needed without torch.
"""
