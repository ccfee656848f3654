"""What the docs show, generated from the code: the tables of settings, the picture of the graph."""

from __future__ import annotations

from ..settings.forms import groups_of
from ..settings.operator import OperatorSettings
from ..settings.run import RunSettings
from ..settings.settings import Settings
from .options import default_text


def run_table() -> str:
    """What a run may choose, as a Markdown table by groups: name, default, what is allowed, meaning."""
    return _table(RunSettings)


def operator_table() -> str:
    """What the operator sets, as such a table."""
    return _table(OperatorSettings)


def _table(kind: type[RunSettings | OperatorSettings]) -> str:
    properties = Settings.model_json_schema()["properties"]
    lines = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for group, names in groups_of(kind).items():
        lines.append(f"| **{group}** | | | |")
        for name in names:
            meaning = str(properties[name]["description"]).replace("|", "\\|")
            lines.append(f"| `{name}` | {default_text(name)} | {_allowed(properties[name])} | {meaning} |")
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
