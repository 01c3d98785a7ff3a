"""Drop-ins for other libraries' locks: the same names and behaviour, with holdfast behind them.

One folder per library. Only here are those libraries imported, and nobody in holdfast imports this.
"""
