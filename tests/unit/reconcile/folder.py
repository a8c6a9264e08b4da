"""The reports' bucket, in memory."""

from typing import Any


class Folder:
    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}

    def put(self, name: str, value: Any) -> None:
        self.objects[name] = value

    def get(self, name: str) -> Any:
        return self.objects.get(name)

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))
