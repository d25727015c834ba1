"""Nothing of this is called by the scripts of the corpus."""


def linear_sum_assignment(*_: object) -> None:
    raise NotImplementedError
