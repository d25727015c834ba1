"""What the schema of one of PyTorch's operators tells about its arguments and results."""

from __future__ import annotations

from typing import Any


class Shape:
    """What an operator's schema says about its arguments."""

    __slots__ = ("functional", "is_out", "name", "operator", "outs", "places")

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        schema = getattr(operator, "_schema", None)
        self.name = schema.name.split("::")[1] if schema is not None else ""
        written = [argument for argument in schema.arguments if is_written(argument)] if schema is not None else []
        self.outs = {argument.name for argument in written if argument.kwarg_only}
        self.is_out = bool(self.outs)
        self.places = [at for at, argument in enumerate(schema.arguments) if is_written(argument)] if written else []
        #: Makes its results itself, by whichever overload fits.
        self.functional = getattr(operator, "_overloadpacket", operator) if self.is_out else operator

    def argument(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the operator is given under this name, or takes by itself."""
        for at, argument in enumerate(self.operator._schema.arguments):
            if argument.name == name:
                return args[at] if at < len(args) else kwargs.get(name, argument.default_value)
        return None

    def written(self, args: tuple[Any, ...]) -> list[Any]:
        """What the operator writes in place."""
        written = [args[at] for at in self.places if at < len(args)]
        return [tensor for part in written for tensor in tensors_of(part)]


def is_written(argument: Any) -> bool:
    """Whether the operator writes into this argument."""
    return argument.alias_info is not None and argument.alias_info.is_write


def takes_tensors(operator: Any) -> bool:
    """Whether there is anything to follow."""
    return any("Tensor" in str(argument.type) for argument in operator._schema.arguments)


def tensors_of(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, (list, tuple)):
        return [item for item in result if hasattr(item, "is_cuda")]
    return [result] if hasattr(result, "is_cuda") else []
