"""The differentiable solver: relaxation and terms (torch), the Lagrangian, and legalisation back to integers."""
