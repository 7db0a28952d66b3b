"""Stands for numpy in the processes that tests start; see `WITHOUT_NUMPY`."""

raise ImportError("The processes that tests start have no numpy")
