-- What every turn needs has another weight now, and standing instructions are a kind of their own: what is known is read
-- again, by the background pass.
UPDATE facts SET outdated = true;
