"""Full load of frames, and the rates at which ports carry it."""
