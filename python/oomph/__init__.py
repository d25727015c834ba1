"""What must run inside the user's process: it watches a script and says what its memory was for.

`oomph plan` puts this package first on the path of the interpreter it starts; nothing here is meant to be imported by
the script itself. torch is imported by the script, when and how it likes: everything here waits for that.
"""
