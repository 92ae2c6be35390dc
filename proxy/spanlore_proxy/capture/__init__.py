"""Traffic becomes exchanges and exchanges become durable spans: the only part of the proxy that does I/O."""
