"""SQLite: the embedded default, one file in WAL mode."""
