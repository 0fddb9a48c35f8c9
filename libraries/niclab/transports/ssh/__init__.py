"""Commands and background jobs over SSH, each with a hard deadline."""
