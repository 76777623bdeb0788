"""String types of the wire: what every stored or searched text must satisfy before anything reads it.

NUL is refused everywhere because PostgreSQL cannot store it and SQLite's functions stop at it. "Not blank"
means that something is left after Unicode `str.strip()`; `\\s` of Python's `re` is the same set.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta

# A linear pattern: blanks, then one character that is neither blank nor NUL, then anything but NUL.
NOT_BLANK_PATTERN = r"^\s*[^\s\x00][^\x00]*$"
NO_NUL_PATTERN = r"^[^\x00]*$"

NotBlank: TypeAlias = Annotated[str, Meta(min_length=1, pattern=NOT_BLANK_PATTERN)]
SearchText: TypeAlias = NotBlank
Text: TypeAlias = Annotated[str, Meta(pattern=NO_NUL_PATTERN)]
