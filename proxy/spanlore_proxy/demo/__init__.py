"""The demonstration: a scripted model server, a small agent that really runs commands, and the story told with them."""
