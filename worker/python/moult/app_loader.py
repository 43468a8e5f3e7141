"""Finds the app that MODULE:ATTR names, and says whether it speaks ASGI or WSGI.

    main:app   package.module:site.app   main:create_app()   main:create_app("production", debug=False)   wsgi

Without ":ATTR" the attribute is `application`, as in gunicorn. Arguments of a factory are literals.
"""
import ast
import difflib
import functools
import importlib
import inspect
import os
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

from .failure import Refused


class AppName(NamedTuple):
    module: str
    attributes: List[str]
    is_factory: bool
    arguments: Tuple[Any, ...]
    keywords: Dict[str, Any]


def load(app: str) -> Any:
    """Imports and returns the app. Raises Refused, or whatever the user's code raises."""
    name = parse(app)
    found = find_attribute(import_module(name.module), name)
    if not name.is_factory:
        if not callable(found):
            raise Refused("%s is a %s, which cannot be called: name the app itself" % (app, type(found).__name__))
        return found
    if not callable(found):
        raise Refused("%s is a %s, not a function: leave out the parentheses" % (app, type(found).__name__))
    made = found(*name.arguments, **name.keywords)
    if not callable(made):
        raise Refused("%s returned a %s, which is no app" % (app, type(made).__name__))
    return made


def load_function(name: str, option: str) -> Callable[..., Any]:
    """A function by MODULE:FUNC, for an option like --post-fork."""
    parsed = parse(name)
    function = find_attribute(import_module(parsed.module), parsed)
    if not callable(function):
        raise Refused("%s %s: it is no function" % (option, name))
    return function


def parse(app: str) -> AppName:
    module, colon, attribute = app.partition(":")
    attribute = attribute if colon else "application"
    unreadable = Refused("cannot read '%s' as an app: say MODULE:ATTR or MODULE:FACTORY(), for example main:app" % app)
    try:
        expression = ast.parse(attribute.strip(), mode="eval").body
    except SyntaxError:
        raise unreadable from None
    arguments: Tuple[Any, ...] = ()
    keywords: Dict[str, Any] = {}
    is_factory = isinstance(expression, ast.Call)
    if isinstance(expression, ast.Call):
        try:
            arguments = tuple(ast.literal_eval(argument) for argument in expression.args)
            keywords = {str(pair.arg): ast.literal_eval(pair.value) for pair in expression.keywords}
        except ValueError:
            raise Refused("cannot read '%s': the arguments of a factory are literals" % app) from None
        expression = expression.func
    attributes: List[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.insert(0, expression.attr)
        expression = expression.value
    if not module or not isinstance(expression, ast.Name):
        raise unreadable
    return AppName(module, [expression.id] + attributes, is_factory, arguments, keywords)


def import_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(missing + "."):
            raise  # the module is there; something that it imports is not
        where = os.getcwd()
        near = difflib.get_close_matches(missing, [n[:-3] for n in os.listdir(where) if n.endswith(".py")], 1)
        hint = ": did you mean '%s'?" % near[0] if near else "; looked in %s and on PYTHONPATH" % where
        raise Refused("there is no module '%s'%s" % (missing, hint)) from None


def find_attribute(module: Any, name: AppName) -> Any:
    found, path = module, name.module
    for separator, attribute in zip([":"] + ["."] * len(name.attributes), name.attributes):
        try:
            found = getattr(found, attribute)
        except AttributeError:
            raise Refused("%s has no attribute '%s'%s" % (path, attribute, _nearest(attribute, found))) from None
        path += separator + attribute
    return found


def _nearest(attribute: str, owner: Any) -> str:
    names = [name for name in dir(owner) if not name.startswith("_")]
    near = difflib.get_close_matches(attribute, names, 1) or [
        name for name in names if name.startswith(attribute) or attribute.startswith(name)]
    return ": did you mean '%s'?" % near[0] if near else ""


def speaks_asgi(app: Any) -> bool:
    """A coroutine function, or one that takes (scope, receive, send). Anything else is taken for WSGI."""
    while isinstance(app, functools.partial):
        app = app.func
    call = app if inspect.isfunction(app) or inspect.ismethod(app) else getattr(app, "__call__", app)
    if _is_coroutine_function(app) or _is_coroutine_function(call):
        return True
    try:
        parameters = inspect.signature(app).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in parameters if one.kind in positional and one.default is one.empty]
    return len(names) == 3 or names == ["scope"]  # the latter is ASGI 2


def _is_coroutine_function(function: Any) -> bool:
    # The attribute is how asgiref marks a plain function as one, on a Python before 3.12.
    return inspect.iscoroutinefunction(function) or getattr(function, "_is_coroutine", None) is not None
