"""The compiled kernel of the network. Without a compiler it is left out, and NumPy does its work."""

from __future__ import annotations

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "adhominem.encoders.network._fused",
            ["adhominem/encoders/network/fused.c"],
            py_limited_api=True,  # one build for Python 3.11 and all that come after it
            optional=True,
            extra_compile_args=["-O3"],
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
