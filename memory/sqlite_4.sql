-- As 012_terms.sql: terms without accents.
UPDATE messages SET term_keys = NULL WHERE length(CAST(text AS blob)) <> length(text);
