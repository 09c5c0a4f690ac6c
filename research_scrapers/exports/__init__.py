"""From the database to a spreadsheet, a notebook, a corpus tool or a colleague."""
