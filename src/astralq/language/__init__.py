"""The query language: text ⇄ algebra."""

from astralq.language.script import Script, ScriptError, Statement, read_script

__all__ = ["Script", "ScriptError", "Statement", "read_script"]
