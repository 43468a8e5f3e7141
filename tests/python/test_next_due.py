"""NEXT_DUE: what an app says of its own schedule, told when its worker retires."""
import pytest
from handover_fixtures import alone as worker  # noqa: F401
from http_client import Connection
from master import Master

CELLS = [("uvicorn", "app"), ("gthread", "wsgi"), ("sync", "wsgi")]


@pytest.fixture(scope="module", params=CELLS, ids=lambda cell: cell[0])
def server(request):
    kind, name = request.param
    with Master("due_app:" + name, worker_class=kind) as master:
        master.loaded()
        yield master


def says(server, expression):
    with Connection(server.port) as client:
        return client.get("/due?" + expression).text()


def told(worker):
    """The words of NEXT_DUE that a retiring worker sends until it is gone."""
    worker.retire(nobody_adopts=True)
    words = []
    for message in iter(worker.next_message, None):
        if "NEXT_DUE" in message:
            words.append(message["NEXT_DUE"])
    assert worker.gone() == 0
    return words


@pytest.mark.parametrize("expression", [
    "1893456000", "1893456000.9", "lambda:1893456000",
    "datetime.datetime(2030,1,1,tzinfo=datetime.timezone.utc)",
    "lambda:datetime.datetime(2030,1,1,1,tzinfo=datetime.timezone(datetime.timedelta(hours=1)))",
])
def test_a_time_in_each_form_is_told_when_the_worker_retires(server, worker, expression):
    assert says(server, expression) == "taken"
    assert told(worker) == ["1893456000"]


def test_the_last_word_counts_and_none_takes_it_back(server, worker):
    for expression in ("1893456000", "None"):
        assert says(server, expression) == "taken"
    assert told(worker) == []


def test_who_says_nothing_is_not_told_of(worker):
    assert told(worker) == []


def test_what_was_said_before_the_fork_is_every_workers():
    with Master("due_app:app", environment={"DUE": "lambda:1893456000"}) as master:
        master.loaded()
        assert [told(master.worker(slot)) for slot in (0, 1)] == [["1893456000"]] * 2


@pytest.mark.parametrize("expression, error", [
    ("datetime.datetime(2030,1,1)", "ValueError: datetime.datetime(2030, 1, 1, 0, 0) has no time zone"),
    ("'soon'", "TypeError: moult.next_due() takes unix seconds"),
    ("True", "TypeError"),
    ("-1", "ValueError"),
    ("float('nan')", "ValueError"),
])
def test_a_bad_value_is_refused_where_it_is_said(server, worker, expression, error):
    assert says(server, expression.replace(" ", "")).startswith(error)
    assert told(worker) == []


def test_a_function_that_fails_is_one_line_in_the_log(server, worker):
    assert says(server, "fail") == "taken"
    with server.logs_once_more("moult worker: moult.next_due: ZeroDivisionError: division by zero\n"):
        assert told(worker) == []


def test_an_apps_own_module_goes_first(tmp_path):
    (tmp_path / "moult.py").write_text("theirs = 1\n")
    (tmp_path / "mine.py").write_text("import moult\nassert moult.theirs\nasync def app(scope, receive, send): pass\n")
    with Master("mine:app", directory=str(tmp_path)) as master:
        master.loaded()
