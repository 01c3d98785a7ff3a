"""Where the truth lives: one folder per backend, found through the registry only."""
