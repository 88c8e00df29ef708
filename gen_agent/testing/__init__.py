"""Shipped tools for testing agents and backends."""
