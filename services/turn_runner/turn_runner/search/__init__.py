"""Search engines of the deployment, for models whose provider does not search itself: one file each."""
