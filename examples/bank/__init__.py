"""A small bank as an MCP server, for agents to be tested with."""
