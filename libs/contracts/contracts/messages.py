"""Messages as AI SDK clients send them: the UIMessage shape, read as tolerantly as the SDK itself reads it.

Fields that we do not know are dropped, as the SDK's own validation drops them; part types that no version of the
shared protocol has are refused. How large a message may be, and which parts a user may send, is the gateway's say.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, model_validator

Json = Any
Metadata = dict[str, dict[str, Json]]
Role = Literal["system", "user", "assistant"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class TextPart(_Part):
    type: Literal["text"]
    text: str
    state: Literal["streaming", "done"] | None = None
    provider_metadata: Metadata | None = Field(None, alias="providerMetadata")


class ReasoningPart(_Part):
    type: Literal["reasoning"]
    id: str | None = None
    text: str
    state: Literal["streaming", "done"] | None = None
    provider_metadata: Metadata | None = Field(None, alias="providerMetadata")


class SourceUrlPart(_Part):
    type: Literal["source-url"]
    source_id: str = Field(alias="sourceId")
    url: str
    title: str | None = None
    provider_metadata: Metadata | None = Field(None, alias="providerMetadata")


class SourceDocumentPart(_Part):
    type: Literal["source-document"]
    source_id: str = Field(alias="sourceId")
    media_type: str = Field(alias="mediaType")
    title: str
    filename: str | None = None
    provider_metadata: Metadata | None = Field(None, alias="providerMetadata")


class FilePart(_Part):
    """`url` is an address or a `data:` URL."""

    type: Literal["file"]
    media_type: str = Field(alias="mediaType")
    url: str
    filename: str | None = None
    provider_metadata: Metadata | None = Field(None, alias="providerMetadata")


class StepStartPart(_Part):
    type: Literal["step-start"]


class DataPart(_Part):
    type: Annotated[str, StringConstraints(pattern=r"^data-")]
    id: str | None = None
    data: Json


class Approval(_Part):
    id: str
    approved: bool | None = None
    reason: str | None = None
    descriptor: Json = None
    signature: str | None = None
    input_schema_input: Json = Field(None, alias="inputSchemaInput")


class ToolPart(_Part):
    """A call, `tool-NAME` or `dynamic-tool` with `toolName`, and as much of its life as the client knows."""

    type: Annotated[str, StringConstraints(pattern=r"^(tool-.+|dynamic-tool)$")]
    tool_name: str | None = Field(None, alias="toolName")
    tool_call_id: str = Field(alias="toolCallId")
    state: Literal[
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    ]
    title: str | None = None
    input: Json = None
    raw_input: Json = Field(None, alias="rawInput")
    input_encoding: Literal["json", "text"] | None = Field(None, alias="inputEncoding")
    output: Json = None
    error_text: str | None = Field(None, alias="errorText")
    preliminary: bool | None = None
    provider_executed: bool | None = Field(None, alias="providerExecuted")
    tool_metadata: dict[str, Json] | None = Field(None, alias="toolMetadata")
    approval: Approval | None = None
    call_provider_metadata: Metadata | None = Field(None, alias="callProviderMetadata")
    result_provider_metadata: Metadata | None = Field(None, alias="resultProviderMetadata")

    @property
    def name(self) -> str:
        return self.tool_name if self.tool_name is not None else self.type.removeprefix("tool-")

    @model_validator(mode="after")
    def _has_what_its_state_has(self) -> "ToolPart":
        if self.type == "dynamic-tool" and self.tool_name is None:
            raise ValueError("a dynamic-tool part needs toolName")
        if self.state == "output-error" and self.error_text is None:
            raise ValueError("a call in output-error needs errorText")
        if self.state == "approval-responded" and (self.approval is None or self.approval.approved is None):
            raise ValueError("a call in approval-responded needs approval.approved")
        return self


def _kind(part: Any) -> str | None:
    """Which model reads this part: the type itself, or the family that its prefix names."""
    kind = part.get("type") if isinstance(part, Mapping) else getattr(part, "type", None)  # type: ignore[misc]
    if not isinstance(kind, str):
        return None
    if kind.startswith("data-"):
        return "data"
    return "tool" if kind == "dynamic-tool" or kind.startswith("tool-") else kind


MessagePart = Annotated[
    Annotated[TextPart, Tag("text")]
    | Annotated[ReasoningPart, Tag("reasoning")]
    | Annotated[SourceUrlPart, Tag("source-url")]
    | Annotated[SourceDocumentPart, Tag("source-document")]
    | Annotated[FilePart, Tag("file")]
    | Annotated[StepStartPart, Tag("step-start")]
    | Annotated[DataPart, Tag("data")]
    | Annotated[ToolPart, Tag("tool")],
    Discriminator(_kind),
]


class UIMessage(BaseModel):
    """One message. `id` is the client's own (16 letters and digits from the SDK), or `None`: the server makes one."""

    model_config = ConfigDict(extra="ignore")

    id: str | None = None
    role: Role
    parts: list[MessagePart]
    metadata: Json = None

    @model_validator(mode="after")
    def _says_something(self) -> "UIMessage":
        if self.role != "assistant" and not self.parts:
            raise ValueError("a message needs at least one part")
        return self

    def stored_parts(self) -> list[dict[str, Json]]:
        """The parts as clients have them: their names on the wire, and only what was sent."""
        return [part.model_dump(mode="json", by_alias=True, exclude_unset=True) for part in self.parts]


def text_message(text: str, id: str | None = None) -> UIMessage:
    """A user's message from bare text."""
    return UIMessage.model_validate({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})


def text_of(message: UIMessage | Iterable[Mapping[str, Any]]) -> str:
    """What the message says, of itself or of its stored parts: its texts, a blank line between two. No reasoning."""
    if isinstance(message, UIMessage):
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    else:
        texts = [part["text"] for part in message if part["type"] == "text"]
    return "\n\n".join(texts)
