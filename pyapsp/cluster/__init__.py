"""Runs on several processes, which MPI starts: one rank for each device, on one host or many."""
