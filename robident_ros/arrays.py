"""Arrays that objects keep."""

import numpy as np
from numpy.typing import ArrayLike


def read_only(values: ArrayLike) -> np.ndarray:
    """Return a float copy of ``values`` that cannot be written to."""
    copy = np.array(values, dtype=float)
    copy.setflags(write=False)
    return copy
