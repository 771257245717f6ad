// The clients are not pinned: tests/setup.sh asks for their newest releases in a copy of this folder.
module aplomb/tests/first

go 1.26.0
