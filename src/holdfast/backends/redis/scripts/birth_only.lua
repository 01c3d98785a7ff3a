-- In Cluster, where no script can reach both a name and its node's mark: asked of each node.

return {mark, held_back}
