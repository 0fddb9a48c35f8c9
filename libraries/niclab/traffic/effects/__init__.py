"""Effects of settings on traffic, compared in turns and with accepted baselines."""
