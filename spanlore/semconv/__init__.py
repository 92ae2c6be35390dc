"""Attribute names: OpenTelemetry's (`gen_ai`) and our own (`lore`)."""
