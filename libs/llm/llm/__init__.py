"""Model calls: one interface, typed events, typed errors; a file per wire format. Nothing here retries.

One `Models` per process. A call yields *lists* of events, one list per network read, so that the loop that passes
tokens on runs once per read:

    models = Models(ModelSettings.from_environment(os.environ))
    model = models.resolve("openai/gpt-5.6-terra")              # NotConfigured; None means the default
    request = Request(messages=(System("…"), User("What is 2+2?")), tools=(Tool("calculator", "…", schema),))
    try:
        async with model.call(request) as call:              # leaving the block drops the connection
            async for events in call.stream():
                for event in events:
                    match event:
                        case TextDelta(text): ...
                        case ReasoningDelta(text): ...
                        case ReasoningData(provider, data): ...   # to be kept and sent back, see `Reasoning`
                        case HostedSearchStart(id, query): ...    # the provider searches; HostedSearchEnd(id, query)
                        case Source(url, title): ...
                        case ToolCallStart(index, provider_call_id, name): ...
                        case ToolCallDelta(index, arguments): ...
                        case Served(model, response_id): ...
                        case Usage(): ...                     # at most once, just before the finish
                        case Finish(reason): ...              # exactly once, always the last event
    except ModelError as error:                              # .code .retryable .started .retry_after .text .detail
        ...                                                  # call.usage: what was reported until then, or None
    await models.aclose()

The next step's request appends `Assistant(text, calls=(ToolCall(provider_call_id, name, arguments), …),
reasoning=(Reasoning(text, provider, data), …))` and one `ToolResult(provider_call_id, text)` per call. Who has
providers of his own passes them: `resolve(model_id, providers=(…), wants=Wants(hosted_search=True))`. Cancelling the
task that iterates also drops the connection at once. In a loop where every microsecond counts,
`type(event) is TextDelta` is three times as fast as `match`.
"""

from llm.call import Call, Model, Wire, WireAbilities
from llm.connections import Patience
from llm.errors import (
    Adapted,
    AnswerTooLarge,
    KeyRefused,
    ModelBusy,
    ModelError,
    ModelUnknown,
    NotConfigured,
    RequestRefused,
    StreamBroken,
)
from llm.events import (
    Event,
    Finish,
    FinishReason,
    HostedSearchEnd,
    HostedSearchStart,
    ReasoningData,
    ReasoningDelta,
    Served,
    Source,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    Usage,
)
from llm.models import Models, ModelSettings
from llm.ollama_request import OllamaSettings
from llm.provider import Kind, Provider, Wants
from llm.requests import (
    Assistant,
    HostedSearch,
    Message,
    Reasoning,
    Request,
    System,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    User,
)

__all__ = [
    "Adapted",
    "AnswerTooLarge",
    "Assistant",
    "Call",
    "Event",
    "Finish",
    "FinishReason",
    "HostedSearch",
    "HostedSearchEnd",
    "HostedSearchStart",
    "KeyRefused",
    "Kind",
    "Message",
    "Model",
    "ModelBusy",
    "ModelError",
    "ModelSettings",
    "ModelUnknown",
    "Models",
    "NotConfigured",
    "OllamaSettings",
    "Patience",
    "Provider",
    "Reasoning",
    "ReasoningData",
    "ReasoningDelta",
    "Request",
    "RequestRefused",
    "Served",
    "Source",
    "StreamBroken",
    "System",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolChoice",
    "ToolResult",
    "Usage",
    "User",
    "Wants",
    "Wire",
    "WireAbilities",
]
