"""The jobs that a run carries out, one file each."""
