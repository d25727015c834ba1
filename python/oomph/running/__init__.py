"""What watches a real run, from inside its processes: it writes the black box, and never ends or alters the job."""
