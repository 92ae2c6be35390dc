"""Grafana dashboards as code. The JSON beside it is what the code writes, so that using it needs none of this."""
