"""What must run inside the user's process: it watches a script and says what its memory was for.

`oomph plan` puts this package first on the path of every interpreter of the job; nothing here is meant to be imported by
the script itself. torch is imported by the script, when and how it likes: everything here waits for that.

- `watching`: steps, phases, modules, loops, and what each block is for, on any card.
- `hollow`: what makes a run on a card that is not there come out as on one that is: values, reads, checkpoints, the
  other processes of a distributed job, the cost on the host.
"""
