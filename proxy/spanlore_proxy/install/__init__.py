"""`spanlore install` and `uninstall`: the user service and the shell's functions, and the way back."""
