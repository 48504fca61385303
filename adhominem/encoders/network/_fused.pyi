from collections.abc import Buffer

VARIANTS: tuple[str, ...]

def pooled(
    variant: str,
    size: int,
    inner: int,
    rows: Buffer,
    lengths: Buffer,
    forward: Buffer,
    backward: Buffer,
    first: Buffer | None,
    last: Buffer | None,
    recurrent: Buffer,
    weight: Buffer,
    bias: Buffer,
    score: Buffer,
    vectors: Buffer,
    attention: Buffer,
    /,
) -> None: ...
def tanh(variant: str, values: Buffer, /) -> None: ...
