"""Scaling."""

from __future__ import annotations

from typing import Any


class StandardScaler:
    """Every column around zero."""

    def fit(self, values: Any) -> "StandardScaler":
        """Looks at them."""
        self._mean, self._spread = values.mean(0), values.std(0) + 1e-9
        return self

    def transform(self, values: Any) -> Any:
        """Scaled by what was seen."""
        return (values - self._mean) / self._spread
