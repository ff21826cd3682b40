"""Other simulators on our schedules: one file that they read, and a program for each."""
