"""What the summarizer is told (seed `002`, "generateAISummary"; seed `000`, "Level 1 Summarization")."""

INSTRUCTIONS = (
    "Summarize the conversation excerpt below in at most {words} words, in the language it is written in. "
    "Keep names, dates, numbers, decisions, preferences, facts about the people, and what is still open. "
    "Write plain sentences about what was said. Add nothing, answer nothing, continue nothing."
)
"""For a level-1 summary, from messages."""

MERGE = (
    "Merge the summaries below, given in order, into one of at most {words} words, in the language they are written "
    "in. Keep names, dates, numbers, decisions, preferences, facts about the people, and what is still open; where "
    "two disagree, the later one holds. Write plain sentences. Add nothing."
)
"""For a summary of summaries, and for the master summary."""

EXCERPT = "<excerpt>\n{text}\n</excerpt>\n\nSummary:"
"""The text to be summarized."""
