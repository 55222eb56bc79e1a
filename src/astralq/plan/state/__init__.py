"""What a continuous query keeps from one epoch to the next."""
