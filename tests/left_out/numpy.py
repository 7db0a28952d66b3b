"""Stands for numpy in the processes that tests start; see `WITHOUT_NUMPY`."""

raise ModuleNotFoundError("The processes that tests start have no numpy", name="numpy")
