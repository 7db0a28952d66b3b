"""Where applications obtain and execute models."""
