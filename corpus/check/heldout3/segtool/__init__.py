"""Semantic segmentation with torchvision models."""
