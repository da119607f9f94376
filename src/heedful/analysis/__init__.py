"""Analysis of finished runs: comparison, meta-evaluation, export."""
