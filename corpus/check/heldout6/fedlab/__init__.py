"""Small federated averaging lab."""
