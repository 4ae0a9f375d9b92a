"""The functions of the namespace, by family: each module names its own in ``__all__``."""

from . import (
    blocks,
    creation,
    dtypes,
    elementwise,
    indexing,
    joining,
    linear,
    nan_reductions,
    reductions,
    searching,
    shapes,
)
from .blocks import *
from .blocks import whole as whole
from .creation import *
from .dtypes import *
from .elementwise import *
from .indexing import *
from .joining import *
from .linear import *
from .nan_reductions import *
from .reductions import *
from .searching import *
from .shapes import *

__all__: list[str] = []
__all__ += blocks.__all__
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += joining.__all__
__all__ += linear.__all__
__all__ += nan_reductions.__all__
__all__ += reductions.__all__
__all__ += searching.__all__
__all__ += shapes.__all__
