"""What is going on? Display, plain lines, logs, metrics, traces: they look on, and never hurt the run."""
