"""One submission against one operator: screen, load, mount, record, play, judge, time."""
