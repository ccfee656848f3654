"""What the docs show, generated from the code: the table of settings, the picture of the graph."""

from __future__ import annotations

from ..settings.settings import Settings
from .options import default_text


def settings_table() -> str:
    """All settings as a Markdown table: name, default, what is allowed, meaning."""
    properties = Settings.model_json_schema()["properties"]
    lines = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, schema in properties.items():
        meaning = str(schema.get("description", "")).replace("|", "\\|")
        lines.append(f"| `{name}` | {default_text(name)} | {_allowed(schema)} | {meaning} |")
    return "\n".join(lines)


def graph_picture() -> str:
    """The compiled graph as a Mermaid diagram."""
    from ..graph.build import build_graph

    return build_graph().compile().get_graph().draw_mermaid(with_styles=False).strip()


def _allowed(schema: dict[str, object]) -> str:
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return ", ".join(map(str, choices)) if isinstance(choices, list) else ""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    if low is None and high is None:
        return ""
    above = "above " if "exclusiveMinimum" in schema else ""
    return f"{above}{low} to {high}"
