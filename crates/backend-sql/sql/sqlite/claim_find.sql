-- Reads the newest recorded claim of a claiming loop.
-- ?1 key of the queue: integer
-- ?2 claimer: blob of 16 bytes
-- Returns: its seq and the fence that it gave, or no row.
-- Clauses: LH-CLAIM-9
-- index: claim
select seq, fence from claim
where queue = ?1
  and claimer = ?2 -- guard LH-CLAIM-9
