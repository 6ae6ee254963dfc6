"""The Hugging Face Hub: cards, pushing and pulling."""
