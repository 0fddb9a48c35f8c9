"""One measured run: its ends, what servers, ports and switch count meanwhile, and when it does not count."""
