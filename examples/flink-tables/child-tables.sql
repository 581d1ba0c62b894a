-- A child table in PostgreSQL for each array of records in Rollcall's topics, which Kafka Connect cannot carry. Replace ${TOPICS}
-- by <prefix>.<tenant>, ${BROKERS}, ${REGISTRY} and ${POSTGRES_JDBC_URL} by the addresses, ${POSTGRES_USER} and ${POSTGRES_PASSWORD}
-- by the user, and ${CHECKPOINTS} by the URI of a folder (file:///…). Create the tables in PostgreSQL first (tables.sql). Each table
-- below names only the fields that it needs.

-- After a restart, Flink must go on from a checkpoint. Without one, Flink does not see what has left the topics in the meantime,
-- and leaves it in the tables.
SET 'execution.checkpointing.interval' = '5 s';
SET 'execution.checkpointing.dir' = '${CHECKPOINTS}';

-- What all topics have in common. upsert-kafka takes the newest value of each key, and takes a null as a removal.
CREATE TABLE topic (
  id STRING,
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'properties.bootstrap.servers' = '${BROKERS}',
  'properties.isolation.level' = 'read_committed',
  'key.format' = 'raw',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = '${REGISTRY}',
  'value.fields-include' = 'EXCEPT_KEY'
);

-- What all child tables have in common.
CREATE TABLE child (
  place INT NOT NULL
) WITH (
  'connector' = 'jdbc',
  'url' = '${POSTGRES_JDBC_URL}',
  'username' = '${POSTGRES_USER}',
  'password' = '${POSTGRES_PASSWORD}',
  'sink.buffer-flush.interval' = '1 s'
);

CREATE TABLE users (
  `roles` ARRAY<ROW<
    `roleType` STRING, `role` STRING, `org` ROW<`sourcedId` STRING>, `userProfile` STRING, `beginDate` DATE, `endDate` DATE>>,
  `agents` ARRAY<ROW<`sourcedId` STRING>>,
  `userIds` ARRAY<ROW<`type` STRING, `identifier` STRING>>,
  `userProfiles` ARRAY<ROW<
    `profileId` STRING, `profileType` STRING, `vendorId` STRING, `applicationId` STRING, `description` STRING>>,
  `resources` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.users') LIKE topic;

CREATE TABLE classes (
  `terms` ARRAY<ROW<`sourcedId` STRING>>,
  `resources` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.classes') LIKE topic;

CREATE TABLE courses (
  `resources` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.courses') LIKE topic;

CREATE TABLE orgs (
  `children` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.orgs') LIKE topic;

CREATE TABLE academic_sessions (
  `children` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.academic-sessions') LIKE topic;

CREATE TABLE absences (
  `school` ARRAY<ROW<`sourcedId` STRING>>
) WITH ('topic' = '${TOPICS}.absences') LIKE topic;

CREATE TABLE schedules (
  `student` STRING,
  `lessons` ARRAY<ROW<
    `id` STRING, `title` STRING, `start` TIMESTAMP(3), `end` TIMESTAMP(3), `cancelled` BOOLEAN,
    `classes` ARRAY<ROW<`sourcedId` STRING>>, `teachers` ARRAY<ROW<`sourcedId` STRING>>>>
) WITH ('topic' = '${TOPICS}.schedules') LIKE topic;

CREATE TABLE line_items (
  `learningObjectiveSet` ARRAY<ROW<`source` STRING, `learningObjectiveIds` ARRAY<STRING>>>
) WITH ('topic' = '${TOPICS}.line-items') LIKE topic;

CREATE TABLE assessment_line_items (
  `learningObjectiveSet` ARRAY<ROW<`source` STRING, `learningObjectiveIds` ARRAY<STRING>>>
) WITH ('topic' = '${TOPICS}.assessment-line-items') LIKE topic;

CREATE TABLE results (
  `learningObjectiveSet` ARRAY<ROW<
    `source` STRING,
    `learningObjectiveResults` ARRAY<ROW<`learningObjectiveId` STRING, `score` DOUBLE, `textScore` STRING>>>>
) WITH ('topic' = '${TOPICS}.results') LIKE topic;

CREATE TABLE assessment_results (
  `learningObjectiveSet` ARRAY<ROW<
    `source` STRING,
    `learningObjectiveResults` ARRAY<ROW<`learningObjectiveId` STRING, `score` DOUBLE, `textScore` STRING>>>>
) WITH ('topic' = '${TOPICS}.assessment-results') LIKE topic;

CREATE TABLE child_user_roles (user_id STRING, role_type STRING, role STRING, org_id STRING, user_profile STRING, begin_date DATE, end_date DATE, PRIMARY KEY (user_id, place) NOT ENFORCED)
WITH ('table-name' = 'user_roles') LIKE child;
CREATE TABLE child_user_agents (user_id STRING, sourced_id STRING, PRIMARY KEY (user_id, place) NOT ENFORCED)
WITH ('table-name' = 'user_agents') LIKE child;
CREATE TABLE child_user_ids (user_id STRING, type STRING, identifier STRING, PRIMARY KEY (user_id, place) NOT ENFORCED)
WITH ('table-name' = 'user_ids') LIKE child;
CREATE TABLE child_user_profiles (user_id STRING, profile_id STRING, profile_type STRING, vendor_id STRING, application_id STRING, description STRING, PRIMARY KEY (user_id, place) NOT ENFORCED)
WITH ('table-name' = 'user_profiles') LIKE child;
CREATE TABLE child_user_resources (user_id STRING, sourced_id STRING, PRIMARY KEY (user_id, place) NOT ENFORCED)
WITH ('table-name' = 'user_resources') LIKE child;
CREATE TABLE child_class_terms (class_id STRING, sourced_id STRING, PRIMARY KEY (class_id, place) NOT ENFORCED)
WITH ('table-name' = 'class_terms') LIKE child;
CREATE TABLE child_class_resources (class_id STRING, sourced_id STRING, PRIMARY KEY (class_id, place) NOT ENFORCED)
WITH ('table-name' = 'class_resources') LIKE child;
CREATE TABLE child_course_resources (course_id STRING, sourced_id STRING, PRIMARY KEY (course_id, place) NOT ENFORCED)
WITH ('table-name' = 'course_resources') LIKE child;
CREATE TABLE child_org_children (org_id STRING, sourced_id STRING, PRIMARY KEY (org_id, place) NOT ENFORCED)
WITH ('table-name' = 'org_children') LIKE child;
CREATE TABLE child_session_children (session_id STRING, sourced_id STRING, PRIMARY KEY (session_id, place) NOT ENFORCED)
WITH ('table-name' = 'session_children') LIKE child;
CREATE TABLE child_absence_schools (absence_id STRING, sourced_id STRING, PRIMARY KEY (absence_id, place) NOT ENFORCED)
WITH ('table-name' = 'absence_schools') LIKE child;
CREATE TABLE child_lessons (`day` STRING, student_id STRING, lesson_id STRING, title STRING, starts TIMESTAMP(3), ends TIMESTAMP(3), cancelled BOOLEAN, PRIMARY KEY (`day`, place) NOT ENFORCED)
WITH ('table-name' = 'lessons') LIKE child;
CREATE TABLE child_lesson_classes (`day` STRING, class_place INT, sourced_id STRING, PRIMARY KEY (`day`, place, class_place) NOT ENFORCED)
WITH ('table-name' = 'lesson_classes') LIKE child;
CREATE TABLE child_lesson_teachers (`day` STRING, teacher_place INT, sourced_id STRING, PRIMARY KEY (`day`, place, teacher_place) NOT ENFORCED)
WITH ('table-name' = 'lesson_teachers') LIKE child;
CREATE TABLE child_learning_objectives (topic STRING, row_id STRING, objective_place INT, source STRING, learning_objective_id STRING, score DOUBLE, text_score STRING, PRIMARY KEY (topic, row_id, place, objective_place) NOT ENFORCED)
WITH ('table-name' = 'learning_objectives') LIKE child;

INSERT INTO child_user_roles (user_id, place, role_type, role, org_id, user_profile, begin_date, end_date)
SELECT id, place, r.`roleType`, r.`role`, r.`org`.`sourcedId`, r.`userProfile`, r.`beginDate`, r.`endDate`
FROM users CROSS JOIN UNNEST(roles) WITH ORDINALITY AS r (`roleType`, `role`, `org`, `userProfile`, `beginDate`, `endDate`, place);

INSERT INTO child_user_agents (user_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM users CROSS JOIN UNNEST(agents) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_user_resources (user_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM users CROSS JOIN UNNEST(resources) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_class_terms (class_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM classes CROSS JOIN UNNEST(terms) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_class_resources (class_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM classes CROSS JOIN UNNEST(resources) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_course_resources (course_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM courses CROSS JOIN UNNEST(resources) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_org_children (org_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM orgs CROSS JOIN UNNEST(children) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_session_children (session_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM academic_sessions CROSS JOIN UNNEST(children) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_absence_schools (absence_id, place, sourced_id)
SELECT id, place, `sourcedId`
FROM absences CROSS JOIN UNNEST(school) WITH ORDINALITY AS e (`sourcedId`, place);

INSERT INTO child_user_ids (user_id, place, type, identifier)
SELECT id, place, `type`, identifier
FROM users CROSS JOIN UNNEST(`userIds`) WITH ORDINALITY AS e (`type`, identifier, place);

INSERT INTO child_user_profiles (user_id, place, profile_id, profile_type, vendor_id, application_id, description)
SELECT id, place, `profileId`, `profileType`, `vendorId`, `applicationId`, `description`
FROM users CROSS JOIN UNNEST(`userProfiles`) WITH ORDINALITY
  AS e (`profileId`, `profileType`, `vendorId`, `applicationId`, `description`, place);

INSERT INTO child_lessons (`day`, place, student_id, lesson_id, title, starts, ends, cancelled)
SELECT id, place, student, lesson_id, title, `start`, `end`, cancelled
FROM schedules CROSS JOIN UNNEST(lessons) WITH ORDINALITY AS l (lesson_id, title, `start`, `end`, cancelled, classes, teachers, place);

INSERT INTO child_lesson_classes (`day`, place, class_place, sourced_id)
SELECT id, place, class_place, `sourcedId`
FROM schedules CROSS JOIN UNNEST(lessons) WITH ORDINALITY AS l (lesson_id, title, `start`, `end`, cancelled, classes, teachers, place)
CROSS JOIN UNNEST(l.classes) WITH ORDINALITY AS c (`sourcedId`, class_place);

INSERT INTO child_lesson_teachers (`day`, place, teacher_place, sourced_id)
SELECT id, place, teacher_place, `sourcedId`
FROM schedules CROSS JOIN UNNEST(lessons) WITH ORDINALITY AS l (lesson_id, title, `start`, `end`, cancelled, classes, teachers, place)
CROSS JOIN UNNEST(l.teachers) WITH ORDINALITY AS t (`sourcedId`, teacher_place);

INSERT INTO child_learning_objectives (topic, row_id, place, objective_place, source, learning_objective_id, score, text_score)
SELECT 'line-items', id, s.place, o.objective_place, s.source, o.objective, CAST(NULL AS DOUBLE), CAST(NULL AS STRING)
FROM line_items CROSS JOIN UNNEST(`learningObjectiveSet`) WITH ORDINALITY AS s (source, ids, place)
CROSS JOIN UNNEST(s.ids) WITH ORDINALITY AS o (objective, objective_place)
UNION ALL
SELECT 'assessment-line-items', id, s.place, o.objective_place, s.source, o.objective, CAST(NULL AS DOUBLE), CAST(NULL AS STRING)
FROM assessment_line_items CROSS JOIN UNNEST(`learningObjectiveSet`) WITH ORDINALITY AS s (source, ids, place)
CROSS JOIN UNNEST(s.ids) WITH ORDINALITY AS o (objective, objective_place)
UNION ALL
SELECT 'results', id, s.place, o.objective_place, s.source, o.objective, o.score, o.text_score
FROM results CROSS JOIN UNNEST(`learningObjectiveSet`) WITH ORDINALITY AS s (source, results, place)
CROSS JOIN UNNEST(s.results) WITH ORDINALITY AS o (objective, score, text_score, objective_place)
UNION ALL
SELECT 'assessment-results', id, s.place, o.objective_place, s.source, o.objective, o.score, o.text_score
FROM assessment_results CROSS JOIN UNNEST(`learningObjectiveSet`) WITH ORDINALITY AS s (source, results, place)
CROSS JOIN UNNEST(s.results) WITH ORDINALITY AS o (objective, score, text_score, objective_place);
