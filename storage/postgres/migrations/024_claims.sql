-- Who takes a turn in a thread, and who waits for it: the lowest ticket of a thread has it.
CREATE TABLE thread_claims (
    thread_id  text NOT NULL,
    holder     text NOT NULL,
    ticket     bigint GENERATED ALWAYS AS IDENTITY,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (thread_id, holder)
);
-- The newest ticket that a thread was given to, so that a write can tell whether it comes too late.
CREATE TABLE thread_turns (
    thread_id text PRIMARY KEY,
    ticket    bigint NOT NULL
);
-- Fails where the thread was given to a later ticket; else it is given to none before the transaction ends.
CREATE FUNCTION hold_claim(of_thread text, of_ticket bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE newest bigint;
BEGIN
    SELECT ticket INTO newest FROM thread_turns WHERE thread_id = of_thread FOR SHARE;
    IF newest > of_ticket THEN
        RAISE EXCEPTION USING ERRCODE = 'ET001', MESSAGE = of_thread;
    END IF;
END $$;
