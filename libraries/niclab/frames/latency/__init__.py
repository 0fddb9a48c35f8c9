"""Round trips of single frames: how long they last, and stalls."""
