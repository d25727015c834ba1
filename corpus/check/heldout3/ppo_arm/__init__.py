"""PPO for the arm."""
