"""What settings do to traffic, compared in turns and with accepted baselines."""
