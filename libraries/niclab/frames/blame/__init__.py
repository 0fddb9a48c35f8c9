"""The party at fault for a difference between what was sent and what arrived: the card, or the peer."""
