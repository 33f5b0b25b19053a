"""The one exception type of tamis."""


class Error(Exception):
    """Raised for every failure. Its text is one sentence that names the argument, file or option at
    fault and says what would be right.
    """

    code: str
    """"usage": the call is wrong. "input": a file or an array is invalid. "io": the system failed.
    "cancelled": a progress callback asked to stop. "internal": a defect of tamis, or memory is
    exhausted."""

    def __init__(self, sentence: str, code: str = "usage") -> None:
        super().__init__(sentence)
        self.code = code


Error.__module__ = "tamis"
