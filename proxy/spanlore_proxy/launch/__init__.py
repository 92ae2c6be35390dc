"""Starting things: the CA, the daemon and its three processes, and the agent with the environment it needs."""
