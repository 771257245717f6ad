//! What can be asked of a disk, and how each command may end; no file in sight.
