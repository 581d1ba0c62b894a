-- Stores how far a connector has read. Run this now and then for each of the connectors rows, absences and absence-changes:
--   psql -v offsets="$(curl -s http://localhost:8083/connectors/rows/offsets)" -f positions.sql
INSERT INTO positions
SELECT
  o -> 'partition' ->> 'kafka_topic',
  (o -> 'partition' ->> 'kafka_partition')::integer,
  (o -> 'offset' ->> 'kafka_offset')::bigint
FROM jsonb_array_elements(:'offsets'::jsonb -> 'offsets') AS o
ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset;
