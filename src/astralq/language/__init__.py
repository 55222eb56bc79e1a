"""The query language: text ⇄ algebra."""

from astralq.language.script import Declared, Script, ScriptError, Statement, read_script

__all__ = ["Declared", "Script", "ScriptError", "Statement", "read_script"]
