"""Lists of tasks, as ids."""

from typing import Any

from postdate.stores.places import id_at
from postdate.stores.tasks import Tasks, TasksWanted


def ids_listed(
    tasks: Tasks, tenant: str, *, after: str = "", limit: int = 100, newest_first: bool = False, **wanted: Any
) -> list[str]:
    """A page. `after` is a place."""
    asked = [TasksWanted(tenant=tenant, **wanted)]
    return [
        id_at(place) for place in tasks.listed(asked, after=after, limit=limit, newest_first=newest_first)
    ]


def walked(tasks: Tasks, tenant: str, *, limit: int, newest_first: bool = False, **wanted: Any) -> list[str]:
    """Page after page, each going on where the last one ended; one that never ends is cut off."""
    asked, places = [TasksWanted(tenant=tenant, **wanted)], list[str]()
    for _ in range(30):
        after = places[-1] if places else ""
        page = tasks.listed(asked, after=after, limit=limit, newest_first=newest_first)
        assert len(page) <= limit
        if not page:
            break
        places += page
    return [id_at(place) for place in places]
