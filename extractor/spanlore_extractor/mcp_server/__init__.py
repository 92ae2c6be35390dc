"""`spanlore mcp`: memory as tools of the Model Context Protocol, for agents that want to ask for it themselves."""
