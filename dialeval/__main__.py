"""`python -m dialeval`, which `accelerate launch -m dialeval` runs in several processes."""

from dialeval.commands import main

if __name__ == "__main__":
    main()
