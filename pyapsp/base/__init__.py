"""What every other module may use: errors, files, host memory, progress, the version."""
