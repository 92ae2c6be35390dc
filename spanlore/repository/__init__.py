"""Which repository a directory belongs to: the scope memories are learned in and shown in."""

from spanlore.repository.checkout import Checkout, locate
from spanlore.repository.remote import scope_of_remote

__all__ = ["Checkout", "locate", "scope_of_remote"]
