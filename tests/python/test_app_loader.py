"""MODULE:ATTR, and whether it speaks ASGI or WSGI."""
import functools

import master  # noqa: F401  (puts the package on the path)
import pytest
from moult import app_loader
from moult.failure import Refused


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of its own name into the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name, text):
        (tmp_path / (name + ".py")).write_text(text)
        return name
    return write


def test_finds_attributes_nested_attributes_and_factories(module):
    name = module("loader_a", "class site:\n  def app(e, s): return 1\napplication = site.app\n"
                              "def make(x=0, *, y=0): return lambda e, s: (x, y)\n")
    assert app_loader.load(name + ":site.app")(0, 0) == 1
    assert app_loader.load(name)(0, 0) == 1
    assert app_loader.load(name + ":make()")(0, 0) == (0, 0)
    assert app_loader.load(name + ":make('a', y=2)")(0, 0) == ("a", 2)


@pytest.mark.parametrize("app, words", [
    ("loader_b:ap", "loader_b has no attribute 'ap': did you mean 'app'?"),
    ("loader_b:app.missing", "loader_b:app has no attribute 'missing'"),
    ("loader_c:app", "no module 'loader_c': did you mean 'loader_b'?"),
    ("nothing_like_it.at_all:app", "no module 'nothing_like_it'; looked in"),
    ("loader_b:number", "is a int, which cannot be called"),
    ("loader_b:number()", "leave out the parentheses"),
    ("loader_b:nothing()", "returned a NoneType, which is no app"),
    ("loader_b:app(x)", "literals"),
    ("loader_b:a b", "say MODULE:ATTR"),
    (":app", "say MODULE:ATTR"),
])
def test_says_what_is_wrong_and_what_would_be_right(module, app, words):
    module("loader_b", "def app(environ, start_response): pass\nnumber = 1\ndef nothing(): pass\n")
    with pytest.raises(Refused) as caught:
        app_loader.load(app)
    assert words in str(caught.value)


def test_a_missing_module_that_the_app_imports_is_the_apps_own_error(module):
    name = module("loader_d", "import a_module_that_nobody_has\n")
    with pytest.raises(ModuleNotFoundError):
        app_loader.load(name + ":app")


async def coroutine(scope, receive, send):
    pass


def three(scope, receive, send):
    pass


def two(environ, start_response):
    pass


class AsgiObject:
    async def __call__(self, scope, receive, send):
        pass


class WsgiObject:
    def __call__(self, environ, start_response):
        pass


class Asgi2:
    def __init__(self, scope):
        pass


@pytest.mark.parametrize("app, is_asgi", [
    (coroutine, True), (three, True), (AsgiObject(), True), (AsgiObject().__call__, True), (Asgi2, True),
    (functools.partial(coroutine), True), (two, False), (WsgiObject(), False), (functools.partial(two), False),
    (lambda *arguments: None, False), (dict, False)])
def test_the_callable_decides(app, is_asgi):
    assert app_loader.speaks_asgi(app) is is_asgi
