"""`spanlore bench proxy`: what the proxy costs against bare mitmdump and no proxy, interleaved in one run."""
