"""Stands in for the extension of Gaussian splatting that looks for near points."""
