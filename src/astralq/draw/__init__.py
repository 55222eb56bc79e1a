"""Pictures: tuples, windows, relations and answers on a timeline, and located streams on a map."""

from astralq.draw.picture import Picture, picture

__all__ = ["Picture", "picture"]
