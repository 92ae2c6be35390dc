"""What memories do: measured against the sessions from which they were withheld."""
