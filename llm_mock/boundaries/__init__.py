"""Where applications obtain and execute models."""

TESTING_VARIABLE = "PFLOW_TESTING"
"""The environment variable that mocks a process."""
FOLDER_VARIABLE = "LLM_MOCK_FOLDER"
"""Where such a process finds what the test configured that started it."""
NO_KEY = "no-key-needed-by-llm-mock"
"""What stands for the key of a provider where there is none."""
