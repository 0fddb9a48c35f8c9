"""Frames as they are on the wire, and as drivers and stacks hand them over: the effect of offloads."""
