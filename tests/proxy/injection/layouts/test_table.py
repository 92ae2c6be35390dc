"""Which dialects can be rewritten."""

from spanlore.genai.inference import Dialect
from spanlore_proxy.injection.layouts.table import LAYOUTS


def test_every_dialect_that_is_not_signed_has_a_layout() -> None:
    """Bedrock's requests carry a signature over their body; they are captured and never rewritten."""
    assert set(Dialect) - set(LAYOUTS) == {Dialect.BEDROCK}
