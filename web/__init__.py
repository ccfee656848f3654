"""The page: a person sees, corrects and deletes what is remembered."""
