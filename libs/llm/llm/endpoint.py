"""Where a provider is, and how it is told who asks."""

from dataclasses import dataclass, field


@dataclass(slots=True, frozen=True)
class Endpoint:
    """A base URL, which ends with `/v1` or the like, and a key, empty for none."""

    base_url: str
    key: str = field(default="", repr=False)

    def url(self, path: str) -> str:
        return f"{self.base_url.rstrip('/')}/{path}"

    def headers(self) -> dict[str, str]:
        """The authorization, if there is a key: an empty one makes some servers refuse."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}
