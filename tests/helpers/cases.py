"""One test of many small cases."""

from functools import wraps
from inspect import Signature, signature


def each_case(names, cases):
    """Like ``pytest.mark.parametrize``, but in one test, because a test by itself costs more than a small case. A failure names the
    case.
    """
    keys, cases = [name.strip() for name in names.split(",")] if isinstance(names, str) else names, [*cases]

    def decorate(test):
        @wraps(test)
        def every(**given):
            for case in cases:
                values = dict(zip(keys, case if len(keys) > 1 else (case,), strict=True))
                try:
                    test(**given, **values)
                except BaseException as error:
                    error.add_note(f"the case: {values}")
                    raise

        every.__signature__ = Signature([one for name, one in signature(test).parameters.items() if name not in keys])
        return every

    return decorate
