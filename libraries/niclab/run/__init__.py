"""One qualification run: it owns the bench, its servers, the journal and the evidence."""
