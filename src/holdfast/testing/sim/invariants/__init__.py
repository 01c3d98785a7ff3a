"""What must hold in every simulated world, one invariant a file.

Each says which promise of DESIGN section 2 it checks and under which assumptions; whether a world
keeps those is decided by ``sim.promises`` alone.
"""
