-- The lessons that each absence touches, from Rollcall's topics: nothing but Flink's own connectors and formats.
-- Write for ${TOPICS} <prefix>.<tenant>, and the addresses for ${BROKERS} and ${REGISTRY}; the topic ${OUTPUT} exists and is
-- compacted. Times are milliseconds since 1970, UTC. A table names only the fields that the join needs. To try it without a
-- cluster: mvn package, then java -jar target/flink-join.jar absence-lessons.sql with those four in the environment.

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

CREATE TABLE schedules (
  day_key STRING,
  `student` STRING,
  `lessons` ARRAY<ROW<
    `id` STRING, `title` STRING, `start` BIGINT, `end` BIGINT, `classes` ARRAY<ROW<`sourcedId` STRING>>>>,
  PRIMARY KEY (day_key) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${TOPICS}.schedules',
  'properties.bootstrap.servers' = '${BROKERS}',
  'properties.isolation.level' = 'read_committed',
  'key.format' = 'raw',
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
  -- null as long as none is known; in no order
  lessons ARRAY<ROW<`id` STRING, `title` STRING, `start` BIGINT, `end` BIGINT>>,
  PRIMARY KEY (absence_id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '${OUTPUT}',
  -- The first value registers the schema, and some registries refuse two that do so at once.
  'sink.parallelism' = '1',
  'properties.bootstrap.servers' = '${BROKERS}',
  'key.format' = 'raw',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TEMPORARY VIEW lessons AS
SELECT day_key, student, lesson.`id`, lesson.`title`, lesson.`start`, lesson.`end`, lesson.`classes`
FROM schedules CROSS JOIN UNNEST(schedules.lessons) AS lesson (`id`, `title`, `start`, `end`, `classes`);

-- Absence and lesson include their start and exclude their end. Of an absence that names a class, only its lessons count.
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
