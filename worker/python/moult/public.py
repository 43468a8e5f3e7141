"""What an app that runs under moult may import as `moult`: nothing has to be installed. Elsewhere (in its tests, under
another server) there is no such module, unless the app has one of its own, which goes before this one:

    try:
        import moult
    except ImportError:
        moult = None

    if moult:
        moult.next_due(lambda: scheduler.get_jobs()[0].next_run_time)
"""
from _moult.next_due import next_due as _next_due

__all__ = ["next_due"]


def next_due(when):  # type: ignore[no-untyped-def]
    """For an app with a schedule of its own, which --idle puts to sleep: when it next has to be awake.

    `when`: unix seconds, an aware datetime, None (there is nothing to do), or a function that gives one of these, which
    is called when a worker retires and should be quick. The last word counts, and the earliest of all workers. The app
    is woken in time for it and stays awake for one --idle. Raises TypeError or ValueError for anything else.
    """
    _next_due(when)
