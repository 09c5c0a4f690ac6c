"""What came of it, for people: text, pages, pictures."""
