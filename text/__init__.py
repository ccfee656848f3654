"""Text: its language, words, stems and sentences, how long it is, and what of it bears on a question."""
