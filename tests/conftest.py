"""What holds for every test."""

from hypothesis import HealthCheck, settings

# How long one example takes, and how fast data are drawn, says more of the machine than of the code: on a busy one a
# property would fail whose rule holds. Everything else stays as it is (in CI hypothesis itself draws without chance).
settings.register_profile(
    "busy",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("busy")
