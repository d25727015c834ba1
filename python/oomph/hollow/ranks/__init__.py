"""The other processes of a distributed job: what stands in for those that do not run."""
