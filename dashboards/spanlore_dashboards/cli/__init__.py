"""The commands that come with the dashboards."""
