"""The stories, written once: each flow asks the rules, and speaks through the two ports only."""
