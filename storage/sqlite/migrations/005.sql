-- As 013_terms_anew.sql: terms without accents.
UPDATE messages SET term_keys = NULL WHERE length(CAST(text AS blob)) <> length(text);
