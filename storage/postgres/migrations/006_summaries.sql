-- How many messages a summary stands for, directly or through its sources; and, where the summary model's text was not
-- taken and the extractive summarizer served, why: such a summary can be made again.
ALTER TABLE summaries ADD COLUMN covers integer NOT NULL DEFAULT 0;
ALTER TABLE summaries ADD COLUMN rejected text;
