"""One module per family of formats; a reader is a generator of dialogues, registered by name."""
