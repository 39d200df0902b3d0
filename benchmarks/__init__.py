"""What the harness itself costs. `make bench` runs all of it; no test depends on a time."""
