"""What the interpreter is started with: `python FOLDER` runs this file with the folder first on its path."""

import sys

from oomph.start import main

sys.exit(main())
