"""Runs on several processes of MPI (ranks): one for each device, on one host or many."""
