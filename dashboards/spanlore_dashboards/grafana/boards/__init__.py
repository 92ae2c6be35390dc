"""The dashboards: which questions they answer, and by which query."""
