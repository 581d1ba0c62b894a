#!/bin/sh
# begin-again.sh <connector> <collection>, such as "rows users": after its topic was recreated, empties its table and has the
# sink read the topic from the beginning. Other topics of the connector go on from where they are. The history of absences is
# not emptied: its events have another detected_at now. Needs curl, psql with DATABASE, ROLLCALL_TOPICS and CONNECT_PORT.
set -e
topic=$ROLLCALL_TOPICS.$2
table=$(echo "$2" | tr - _)
connector=http://localhost:$CONNECT_PORT/connectors/$1

curl -sf -X PUT "$connector/stop"
# Until its tasks have ended, they may still commit positions.
until curl -sf "$connector/status" | grep -q '"tasks":\[\]'; do sleep 1; done
if [ "$table" != absence_changes ]; then psql -q "$DATABASE" -c "TRUNCATE $table"; fi
# Nothing is printed if there are no positions: Kafka deletes those of a deleted topic itself.
forgotten=$(psql -qAt "$DATABASE" -v topic="$topic" -v collection="$2" -v offsets="$(curl -sf "$connector/offsets")" <<'SQL'
DELETE FROM positions WHERE topic = :'topic';
UPDATE lives SET life_id = p.life_id FROM progress p WHERE p.collection = lives.collection AND p.collection = :'collection';
SELECT jsonb_build_object('offsets', jsonb_agg(o || '{"offset": null}'))
FROM jsonb_array_elements(:'offsets'::jsonb -> 'offsets') AS o
WHERE o -> 'partition' ->> 'kafka_topic' = :'topic'
HAVING count(*) > 0;
SQL
)
if [ -n "$forgotten" ]; then
  # Refused until the stopped tasks have left their consumer group.
  until curl -sf -X PATCH -H 'Content-Type: application/json' -d "$forgotten" "$connector/offsets"; do sleep 1; done
fi
curl -sf -X PUT "$connector/resume"
