"""Commands that put things back as they are now, for the journal."""
