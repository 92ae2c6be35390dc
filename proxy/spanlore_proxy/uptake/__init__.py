"""Whether a real model names what a memory says, by where the memory stands and how it is worded."""
