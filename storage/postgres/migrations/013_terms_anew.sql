-- Terms of words are without accents now, and in the language that a better detector finds: those of messages that are not
-- ASCII alone are made again, by the background pass. Other messages keep them, for they have the same, or English stems
-- that questions have too.
UPDATE messages SET term_keys = NULL WHERE octet_length(text) <> char_length(text);
