"""`astralq demo`: the buoys of paper 001, from questions in words to answers, and one of them live."""
