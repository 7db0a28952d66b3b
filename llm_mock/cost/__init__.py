"""What calls cost, and budgets."""
