"""What crosses a border: wire Structs, recalled records, limits, errors and the ports that adapters implement.

Imports the standard library and msgspec, nothing else.
"""
