"""PostgreSQL: one server for several sidecars."""
