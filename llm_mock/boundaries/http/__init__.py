"""The boundary at HTTP: the requests of every SDK to a provider of models are answered by the mock."""
