"""Values on demand: what the card's tensors would hold, worked out on the host when something is decided by it.

In a second run of a plan, every operator that touches the hollow card is also written down. A record says what was
called and on what; it makes nodes, each of which stands for what one storage holds from one write to the next. Records
name nodes, never tensors of the card, so nothing is kept alive there. A read works out the records it depends on, the
oldest first, with the host's own kernels; what dies unread is never computed.

- `nodes`: nodes, records, and what an operator's schema says about them.
- `recording`: writes operators down.
- `working`: works records out, within bounds of time and memory.
- `host_kernels`: the host's version of what only a card has.
- `steering`: whether anything is decided by a value that the script reads.
"""
