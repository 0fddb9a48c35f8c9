"""Load for hours: what drifts, breaks or flaps meanwhile."""
