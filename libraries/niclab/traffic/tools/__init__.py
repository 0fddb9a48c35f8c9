"""The tools that make traffic, behind one interface, and readers of what they print."""
