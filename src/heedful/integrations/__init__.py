"""heedful inside other tools: tests, evaluation frameworks, optimisers and experiment trackers."""
