"""The storage of all engines: each query written once, over the small Engine protocol of `adapters.sql.engine`."""
