"""run.py FOLDER [ACT...]: does the acts in a folder, and prints what a program sees of each.

The folder is a mount or the disk: a program must not be able to tell them apart. ACT is a file or one function of it.
"""

import sys

import attributes
import contents
import directories
import locks
import metadata
import names
import open_files
import special
import users
from acting import run

run(sys.argv[1], sys.argv[2:])
