"""`TelemetrySettings`: whether anything is measured for others to read."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from .forms import PROCESS

Telemetry = Literal["off", "otel", "prometheus"]


class TelemetrySettings(BaseModel):
    """Whether anything is measured for others to read."""

    telemetry: Telemetry = Field(
        "off",
        description="otel: spans and metrics to the OpenTelemetry providers that the process has set up. prometheus: "
        "metrics in the registry of prometheus_client, which the LangGraph server serves at /metrics. Neither holds "
        "anything that was said, or by whom.",
        json_schema_extra=PROCESS,
    )
