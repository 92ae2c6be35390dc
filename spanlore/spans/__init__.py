"""Spans as spanlore passes them around: free of any framework."""
