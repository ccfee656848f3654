"""The nodes of the graph, one file each, named as on the diagram."""
