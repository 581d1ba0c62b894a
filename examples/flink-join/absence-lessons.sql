-- The lessons that each absence touches, from Rollcall's topics. This needs nothing but Flink's own connectors and formats.
-- Replace ${TOPICS} by <prefix>.<tenant>, ${BROKERS} and ${REGISTRY} by their addresses, ${OUTPUT} by the name of a compacted
-- topic that exists, and ${CHECKPOINTS} by the URI of a folder (file:///…). Times are milliseconds since 1970, UTC. Each table
-- below names only the fields that the join needs. To try this without a cluster, put those five values into the environment,
-- and run mvn package, then java -jar target/flink-join.jar absence-lessons.sql.

-- After a restart, Flink must go on from a checkpoint. (A cluster does this by itself, or with execution.state-recovery.path.)
-- Without a checkpoint, Flink does not see which absences have left the topic in the meantime, and leaves them in its output.
SET 'execution.checkpointing.interval' = '1 s';
SET 'execution.checkpointing.dir' = '${CHECKPOINTS}';

-- Flink collects the changes of a fifth of a second before it joins them. A result that is replaced within this time is not
-- written. Without this setting, a day that comes or changes would make new rows for each of its lessons.
SET 'table.exec.mini-batch.enabled' = 'true';
SET 'table.exec.mini-batch.allow-latency' = '200 ms';
SET 'table.exec.mini-batch.size' = '5000';

CREATE TABLE absences (
  absence_id STRING,
  `sourcedId` STRING,
  `fromTime` BIGINT,
  `toTime` BIGINT,
  `student` ROW<`sourcedId` STRING>,
  `classesAffected` ROW<`sourcedId` STRING>,
  PRIMARY KEY (absence_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${TOPICS}.absences',
  'properties.bootstrap.servers' = '${BROKERS}',
  'properties.isolation.level' = 'read_committed',
  'key.format' = 'raw',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE classes (
  class_id STRING,
  `title` STRING,
  PRIMARY KEY (class_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${TOPICS}.classes',
  'properties.bootstrap.servers' = '${BROKERS}',
  'properties.isolation.level' = 'read_committed',
  'key.format' = 'raw',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

-- This is not upsert-kafka, because a null in this topic only says that Rollcall no longer asks for the day. It says nothing about
-- the lessons of the day. The connector kafka skips nulls, so that past absences keep their lessons. Flink's state grows with each student's day.
CREATE TABLE schedules (
  day_key STRING,
  `student` STRING,
  `lessons` ARRAY<ROW<
    `id` STRING, `title` STRING, `start` BIGINT, `end` BIGINT, `classes` ARRAY<ROW<`sourcedId` STRING>>>>,
  arrived AS PROCTIME()
) WITH (
  'connector' = 'kafka',
  'topic' = '${TOPICS}.schedules',
  'scan.startup.mode' = 'earliest-offset',
  'properties.bootstrap.servers' = '${BROKERS}',
  'properties.isolation.level' = 'read_committed',
  'key.format' = 'raw',
  'key.fields' = 'day_key',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE absence_lessons (
  absence_id STRING,
  version STRING,
  student STRING,
  from_time BIGINT,
  to_time BIGINT,
  class_id STRING,
  class_title STRING,
  -- Null while no lesson is known. The lessons are in no particular order.
  lessons ARRAY<ROW<`id` STRING, `title` STRING, `start` BIGINT, `end` BIGINT>>,
  PRIMARY KEY (absence_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${OUTPUT}',
  -- The first value registers the schema, and some registries refuse two writers that do so at once.
  'sink.parallelism' = '1',
  -- Readers with isolation.level=read_committed see each result once, when a checkpoint is complete. Flink retracts a row before
  -- it corrects the row, so there may be a null between two rows of an absence.
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '${OUTPUT}',
  -- brokers allow 15 minutes at most, unless configured otherwise
  'properties.transaction.timeout.ms' = '600000',
  'properties.bootstrap.servers' = '${BROKERS}',
  'key.format' = 'raw',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

-- The newest record of each day.
CREATE TEMPORARY VIEW days AS
SELECT day_key, student, lessons
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY day_key ORDER BY arrived DESC) AS place FROM schedules)
WHERE place = 1;

CREATE TEMPORARY VIEW lessons AS
SELECT day_key, student, lesson.`id`, lesson.`title`, lesson.`start`, lesson.`end`, lesson.`classes`
FROM days CROSS JOIN UNNEST(days.lessons) AS lesson (`id`, `title`, `start`, `end`, `classes`);

-- Absence and lesson include their start and exclude their end. If an absence names a class, only lessons of this class count.
CREATE TEMPORARY VIEW touched AS
SELECT
  a.absence_id,
  ARRAY_AGG(CAST(ROW(l.`id`, l.`title`, l.`start`, l.`end`)
    AS ROW<`id` STRING, `title` STRING, `start` BIGINT, `end` BIGINT>)) AS lessons
FROM absences AS a
JOIN lessons AS l ON l.student = a.student.sourcedId
WHERE GREATEST(a.fromTime, l.`start`) < LEAST(a.toTime, l.`end`)
  AND (a.classesAffected.sourcedId IS NULL OR ARRAY_CONTAINS(l.`classes`, a.classesAffected))
GROUP BY a.absence_id;

INSERT INTO absence_lessons
SELECT
  a.absence_id, a.sourcedId, a.student.sourcedId, a.fromTime, a.toTime, a.classesAffected.sourcedId, c.title, t.lessons
FROM absences AS a
LEFT JOIN classes AS c ON c.class_id = a.classesAffected.sourcedId
LEFT JOIN touched AS t ON t.absence_id = a.absence_id;
