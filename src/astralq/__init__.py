"""astralq: exact continuous queries over sensor streams, on Spark."""

from importlib import import_module

TYPE_CHECKING = False  # typing's own costs more than all the rest of this file
if TYPE_CHECKING:
    from astralq.algebra import *  # noqa: F403
    from astralq.public import *  # noqa: F403
    from astralq.public import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        """A public name, imported when it is asked for: the command line is there at once, and hears Ctrl-C."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        public = import_module("astralq.public")
        if name == "__all__" or name in public.__all__:
            return getattr(public, name)
        raise AttributeError(f"module 'astralq' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*globals(), *import_module("astralq.public").__all__])
