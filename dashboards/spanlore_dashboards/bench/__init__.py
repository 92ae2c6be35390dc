"""`spanlore bench dashboards`: how long every panel's query takes."""
