"""How providers word their errors: data for `models.failures`, with the servers it was seen at.

Patterns are matched without regard to case. The group `window` is what the model takes, `asked` what the prompt had,
both in tokens; `room` is the window without the reply.
"""

from __future__ import annotations

from typing import Final

from ..state.turn_records import FailureKind

CONTEXT: Final = (
    # llama.cpp's server, in its JSON
    r"n_prompt_tokens\W+(?P<asked>\d+).{0,80}n_ctx\W+(?P<window>\d+)",
    r"request \((?P<asked>\d+) tokens\) exceeds the available context size \((?P<window>\d+) tokens\)",
    r"exceeds the available context size|exceed_context_size_error|context size has been exceeded",
    # llama-cpp-python
    r"requested tokens \((?P<asked>\d+)\) exceed context window of (?P<window>\d+)",
    # a GGUF model in this process
    r"the prompt has (?P<asked>\d+) tokens, the model's window is (?P<window>\d+)",
    # OpenAI, vLLM, DeepSeek, OpenRouter, Azure
    r"maximum context length is (?P<window>\d+) tokens.{0,120}"
    r"\((?P<asked>\d+) (?:in|of) (?:the|your) (?:messages|prompt|text|input)",
    r"maximum context length is (?P<window>\d+) tokens.{0,120}?"
    r"(?:resulted in|has|requested(?: about)?|contains(?: at least)?) (?P<asked>\d+)(?: input)? tokens",
    r"configured limit of (?P<window>\d+) tokens.{0,60}resulted in (?P<asked>\d+)",
    r"maximum context length is (?P<window>\d+)",
    r"prompt \(length (?P<asked>\d+)\) is longer than the maximum model length of (?P<window>\d+)",
    r"passed (?P<asked>\d+) input tokens.{0,90}context length is only (?P<window>\d+)",
    r"string_above_max_length|expected a string with maximum length \d+",
    # Groq, GitHub Models
    r"reduce the length of the messages or completion",
    r"request body too large for .{0,60}max size: (?P<window>\d+) tokens",
    # SGLang
    r"the input \((?P<asked>\d+) tokens\) is longer than the model's context length \((?P<window>\d+) tokens\)",
    r"maximum context length of (?P<window>\d+) tokens.{0,60}?(?P<asked>\d+) tokens from the input",
    # Fireworks
    r"prompt is too long: (?P<asked>\d+), model maximum context length: (?P<window>\d+)",
    r"context_length_exceeded|exceeds the context window|input tokens exceed the configured limit"
    r"|contextwindowexceeded",
    # xAI
    r"maximum prompt length is (?P<window>\d+) but the request contains (?P<asked>\d+)",
    # Anthropic
    r"prompt is too long: (?P<asked>\d+) tokens > (?P<window>\d+)",
    r"exceed context limit: (?P<asked>\d+) \+ \d+ > (?P<window>\d+)",
    r"prompt is too long|request_too_large|input is too long for requested model",
    # Google
    r"input token count(?: is)? \(?(?P<asked>\d+)\)?.{0,80}?"
    r"(?:maximum number of tokens allowed|only supports up to) \(?(?P<window>\d+)",
    r"input token count.{0,20}exceeds the maximum number of tokens allowed(?: \(?(?P<window>\d+))?",
    r"request payload size exceeds the limit",
    # Bedrock
    r"max input tokens: (?P<window>\d+), request input token count: (?P<asked>\d+)",
    r"number of input tokens exceeds maximum length|expected maxlength: \d+, actual: \d+",
    # Ollama
    r"input length exceeds (?:the |maximum )?context length|prompt too long; exceeded max(?:imum)? context length",
    # Mistral, Cohere, Together, Hugging Face, LM Studio, watsonx, Databricks, DashScope, Doubao, Hunyuan
    r"prompt contains (?P<asked>\d+) tokens.{0,60}too large for model with (?P<window>\d+) maximum context length",
    r"too large for model with (?P<window>\d+) maximum context length",
    r"cannot exceed (?P<window>\d+)\D{1,20}received (?P<asked>\d+)",
    r"must be <= (?P<window>\d+)\. given: (?P<asked>\d+) `inputs` tokens",
    r"first (?P<asked>\d+) tokens when context the overflows.{0,90}length of only (?P<window>\d+)",
    r"tokens to keep from the initial prompt is greater than the context length",
    r"`inputs` must have less than (?P<window>\d+) tokens\. given: (?P<asked>\d+)",
    r"number of input tokens (?P<asked>\d+) cannot exceed the total tokens limit (?P<window>\d+)",
    r"prompt token count.{0,40}cannot exceed (?P<window>\d+)",
    r"range of input length should be \[\d+, (?P<window>\d+)\]",
    r"exceed max message tokens|more than max tokens allowed",
    # of any server
    r"exceeds? (?:the |this |maximum |max |allowed |model'?s )*(?:context (?:length|window|size)|input length)"
    r"|context.(?:length|window).exceeded",
    # a request larger than the tokens a minute of the account never passes, however often it is tried
    r"request too large.{0,160}limit:? (?P<window>\d+), requested:? (?P<asked>\d+)",
    r"request too large for model",
)
"""The prompt is too long."""

REFUSAL: Final = (
    r"content_filter|content management policy|responsibleaipolicyviolation|prompt was blocked|safety_violation"
    r"|content_policy_violation",
)
"""The provider refuses this prompt, whoever sends it."""

QUOTA: Final = (
    r"insufficient_quota|exceeded your current quota, please check your plan|credit balance is too low|billing",
)
"""The account has nothing left: waiting does not help."""

BY_TEXT: Final[tuple[tuple[FailureKind, str], ...]] = (
    ("rate_limit", r"rate.?limit|too many requests|resource.?exhausted|throttl|too many concurrent"),
    ("server", r"overloaded|server_error|internal server error|service.?unavailable|bad gateway|model is loading"),
    ("timeout", r"timed out|deadline exceeded|gateway timeout"),
    ("connection", r"connection (?:error|refused|reset|aborted|closed)|server disconnected|incomplete chunked read"),
    ("key", r"invalid.{0,4}api.?key|incorrect api key|authentication_error|unauthorized"),
)
"""Where neither a status nor the kind of the error tells more; the first that matches."""

BY_STATUS: Final[dict[int, FailureKind]] = {
    401: "key", 402: "quota", 403: "key", 408: "timeout", 413: "context", 425: "server", 429: "rate_limit",
    500: "server", 502: "server", 503: "server", 504: "timeout", 520: "server", 524: "timeout", 529: "server",
}  # fmt: skip
"""HTTP statuses."""

BY_NAME: Final[tuple[tuple[FailureKind, str], ...]] = (
    ("context", r"ContextOverflow|ContextLength|ContextWindow|PromptTooLong"),
    ("refusal", r"Refusal|ContentFilter|ContentPolicy|BlockedPrompt"),
    ("timeout", r"Timeout|DeadlineExceeded"),
    ("rate_limit", r"RateLimit|TooManyRequests|ResourceExhausted|Throttl"),
    ("connection", r"Connection|ConnectError|ReadError|WriteError|RemoteProtocol|Disconnected|Incomplete"),
    ("server", r"InternalServer|ServiceUnavailable|Overloaded|ServerError"),
    ("key", r"Authentication|PermissionDenied|Unauthorized"),
)
"""Names of exception classes and their bases, of any package."""

WAIT: Final = (
    r"(?:try again|retry)(?: in| after)?\W{1,4}(?P<seconds>\d+(?:\.\d+)?) ?(?P<unit>ms|s|m)?\b"
    r"|retry_?delay\W+(?P<delay>\d+(?:\.\d+)?)s"
)
"""How long to wait, where the headers do not tell."""
