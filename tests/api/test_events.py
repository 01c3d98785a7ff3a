"""What an observer sees, and that its faults stay its own."""
