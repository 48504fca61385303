"""The parts in C. Each is optional: where it cannot be built, Python and NumPy do its work."""

from __future__ import annotations

import os

from setuptools import Extension, setup

OPTIONS = {
    "py_limited_api": True,  # one build for Python 3.11 and all that come after it
    "optional": True,
    # With less than -O3, sums do not stay in registers. Microsoft's compiler must be asked for C11.
    "extra_compile_args": ["/O2", "/std:c11"] if os.name == "nt" else ["-O3"],
}

setup(
    ext_modules=[
        Extension("adhominem.text._chunks", ["adhominem/text/chunks.c"], **OPTIONS),
        Extension(
            "adhominem.ngrams._counting",
            ["adhominem/ngrams/counting.c"],
            depends=["adhominem/buffers.h"],
            **OPTIONS,
        ),
        Extension("adhominem.score._rows", ["adhominem/score/rows.c"], **OPTIONS),
        Extension(
            "adhominem.index._looking",
            ["adhominem/index/looking.c"],
            depends=["adhominem/buffers.h"],
            libraries=["m"] if os.name == "posix" else [],
            **OPTIONS,
        ),
        Extension(
            "adhominem.index._chosen",
            ["adhominem/index/chosen.c"],
            depends=["adhominem/buffers.h"],
            **OPTIONS,
        ),
        Extension(
            "adhominem.paper._fused",
            ["adhominem/paper/fused.c"],
            depends=["adhominem/paper/fused_steps.h"],
            libraries=["m"] if os.name == "posix" else [],
            **OPTIONS,
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
