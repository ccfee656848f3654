-- From this version on the tables have policies, which `row_security.sql` makes for this and every later table: an
-- earlier version does not say whose rows it wants, and would find none.
SELECT
