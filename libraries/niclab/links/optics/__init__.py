"""The modules in the cages of ports: their memories, what they read, and the light that they receive."""
