"""Making certificates: of one card, of many cards, of a run that was killed."""
