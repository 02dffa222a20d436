"""The data-flow graph: a directed multigraph of operations and dependences."""

from gaus_lab.graph.builder import GraphBuilder
from gaus_lab.graph.core import DEFAULT_TYPE, Graph

__all__ = ["DEFAULT_TYPE", "Graph", "GraphBuilder"]
