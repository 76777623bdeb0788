"""What stands behind the ports of `contracts.ports`: storage engines, the tokenizer and ranking."""

from adapters.storage import open_storage

__all__ = ["open_storage"]
