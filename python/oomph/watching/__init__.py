"""Says what a job does while it runs: steps, phases, modules, loops, and what each block of memory is for."""
