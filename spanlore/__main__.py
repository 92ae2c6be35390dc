"""`python -m spanlore`."""

from spanlore.main import main

main()
