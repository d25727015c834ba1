"""Makes a run on a card that is not there come out as on one that is."""
