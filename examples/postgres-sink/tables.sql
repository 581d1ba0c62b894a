-- Tables for the connectors: run this once, before they start, in an empty schema. The sink would create tables by itself, too,
-- but with the type "timestamp" for times, and "text" for JSON.
--
-- Names are the hub's, in snake case: student_sourced_id is student.sourcedId. Every column except keys may be null.
-- There are no foreign keys: between topics there is no order, so an enrolment may come before its class.

CREATE EXTENSION IF NOT EXISTS hstore; -- for the offsets of progress: a map

-- Rows of the hub ---------------------------------------------------------------------------------------------------------------

CREATE TABLE orgs (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  name text,
  type text,
  identifier text,
  parent_sourced_id text,
  additional_fields jsonb,
  published_at timestamptz
);
COMMENT ON TABLE orgs IS 'Districts and schools.';
COMMENT ON COLUMN orgs.date_last_modified IS 'When the content last changed. A nightly re-stamp of the hub does not change it here.';
COMMENT ON COLUMN orgs.additional_fields IS 'Fields of the hub that Rollcall does not know, or whose typed value says less than the original. All tables have this column.';
COMMENT ON COLUMN orgs.published_at IS 'When Rollcall published the row, by the clock of Rollcall. All tables have this column.';

CREATE TABLE academic_sessions (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  start_date date,
  end_date date,
  type text,
  parent_sourced_id text,
  school_year text,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE courses (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  school_year_sourced_id text,
  course_code text,
  grades text[],
  subjects text[],
  org_sourced_id text,
  subject_codes text[],
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE classes (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  class_code text,
  class_type text,
  location text,
  grades text[],
  subjects text[],
  course_sourced_id text,
  school_sourced_id text,
  subject_codes text[],
  periods text[],
  additional_fields jsonb,
  published_at timestamptz
);
CREATE INDEX ON classes (school_sourced_id);

CREATE TABLE users (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  user_master_identifier text,
  username text,
  enabled_user boolean,
  given_name text,
  family_name text,
  middle_name text,
  preferred_first_name text,
  preferred_middle_name text,
  preferred_last_name text,
  pronouns text,
  primary_org_sourced_id text,
  identifier text,
  email text,
  sms text,
  phone text,
  grades text[],
  additional_fields jsonb,
  published_at timestamptz
);
COMMENT ON TABLE users IS 'Everyone. The roles of a user are not here (an array of records).';

CREATE TABLE students (LIKE users INCLUDING ALL);

CREATE TABLE teachers (LIKE users INCLUDING ALL);
COMMENT ON TABLE students IS 'The users who are students.';
COMMENT ON TABLE teachers IS 'The users who are teachers.';

CREATE TABLE enrollments (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  user_sourced_id text,
  class_sourced_id text,
  school_sourced_id text,
  role text,
  is_primary boolean,
  begin_date date,
  end_date date,
  additional_fields jsonb,
  published_at timestamptz
);
CREATE INDEX ON enrollments (user_sourced_id);
CREATE INDEX ON enrollments (class_sourced_id);
COMMENT ON TABLE enrollments IS 'Who is in which class, as what (role), from when to when.';

CREATE TABLE categories (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  weight double precision,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE line_items (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  description text,
  assign_date timestamptz,
  due_date timestamptz,
  class_sourced_id text,
  school_sourced_id text,
  category_sourced_id text,
  grading_period_sourced_id text,
  academic_session_sourced_id text,
  score_scale_sourced_id text,
  result_value_min double precision,
  result_value_max double precision,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE results (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  line_item_sourced_id text,
  student_sourced_id text,
  class_sourced_id text,
  score_scale_sourced_id text,
  score_status text,
  score double precision,
  text_score text,
  score_date date,
  comment text,
  in_progress boolean,
  incomplete boolean,
  late boolean,
  missing boolean,
  additional_fields jsonb,
  published_at timestamptz
);
CREATE INDEX ON results (student_sourced_id);

CREATE TABLE assessment_line_items (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  title text,
  description text,
  class_sourced_id text,
  parent_assessment_line_item_sourced_id text,
  score_scale_sourced_id text,
  result_value_min double precision,
  result_value_max double precision,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE assessment_results (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  assessment_line_item_sourced_id text,
  student_sourced_id text,
  score double precision,
  text_score text,
  score_date date,
  score_scale_sourced_id text,
  score_percentile double precision,
  score_status text,
  comment text,
  in_progress boolean,
  incomplete boolean,
  late boolean,
  missing boolean,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE absence_summaries (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  additional_fields jsonb,
  published_at timestamptz
);

CREATE TABLE absence_versions (
  sourced_id text PRIMARY KEY,
  status text,
  date_last_modified timestamptz,
  from_time timestamptz,
  to_time timestamptz,
  absence_duration_unit text,
  absence_duration_value double precision,
  student_sourced_id text,
  school_id text,
  term_sourced_id text,
  classes_affected_sourced_id text,
  replaces_sourced_id text,
  replaced_by_sourced_id text,
  deleted_time timestamptz,
  additional_fields jsonb,
  published_at timestamptz
);
COMMENT ON TABLE absence_versions IS 'Every record of an absence as the hub has it, also those that were replaced or deleted. One absence is a chain of them: see absences.';

-- Absences ----------------------------------------------------------------------------------------------------------------------

CREATE TABLE absences (
  absence_id text PRIMARY KEY,
  sourced_id text NOT NULL,
  status text,
  date_last_modified timestamptz,
  from_time timestamptz,
  to_time timestamptz,
  absence_duration_unit text,
  absence_duration_value double precision,
  student_sourced_id text,
  school_id text,
  term_sourced_id text,
  classes_affected_sourced_id text,
  replaces_sourced_id text,
  replaced_by_sourced_id text,
  deleted_time timestamptz,
  additional_fields jsonb,
  published_at timestamptz
);
CREATE INDEX ON absences (student_sourced_id);
CREATE INDEX ON absences (from_time, to_time);
COMMENT ON TABLE absences IS 'One row for each absence that is not deleted, of past years too.';
COMMENT ON COLUMN absences.absence_id IS 'Stays the same when the absence is corrected.';
COMMENT ON COLUMN absences.sourced_id IS 'The id of its current version in absence_versions.';
COMMENT ON COLUMN absences.to_time IS 'May be in the year 9999: no end is known.';
COMMENT ON COLUMN absences.school_id IS 'The id of the school, if the hub names exactly one.';

CREATE TABLE absence_changes (
  absence_id text NOT NULL,
  step bigint NOT NULL,
  operation text NOT NULL,
  version_sourced_id text,
  version_status text,
  version_date_last_modified timestamptz,
  version_from_time timestamptz,
  version_to_time timestamptz,
  version_absence_duration_unit text,
  version_absence_duration_value double precision,
  version_student_sourced_id text,
  version_school_id text,
  version_term_sourced_id text,
  version_classes_affected_sourced_id text,
  version_replaces_sourced_id text,
  version_replaced_by_sourced_id text,
  version_deleted_time timestamptz,
  version_additional_fields jsonb,
  previous_version_sourced_id text,
  previous_version_status text,
  previous_version_date_last_modified timestamptz,
  previous_version_from_time timestamptz,
  previous_version_to_time timestamptz,
  previous_version_absence_duration_unit text,
  previous_version_absence_duration_value double precision,
  previous_version_student_sourced_id text,
  previous_version_school_id text,
  previous_version_term_sourced_id text,
  previous_version_classes_affected_sourced_id text,
  previous_version_replaces_sourced_id text,
  previous_version_replaced_by_sourced_id text,
  previous_version_deleted_time timestamptz,
  previous_version_additional_fields jsonb,
  snapshot boolean NOT NULL,
  cause text NOT NULL,
  merged_into text,
  detected_at timestamptz NOT NULL,
  published_at timestamptz,
  PRIMARY KEY (absence_id, step, detected_at)
);
CREATE INDEX ON absence_changes (detected_at);
COMMENT ON TABLE absence_changes IS 'A history: each step of each absence once. Nothing is deleted here, also when the topic forgets an absence.';
COMMENT ON COLUMN absence_changes.step IS '1, 2, … of each absence. After the topic was recreated steps begin at 1 again: then the event with the later detected_at is the later one.';
COMMENT ON COLUMN absence_changes.operation IS 'CREATED, REPLACED, DELETED or RESTORED; a later version may have others.';
COMMENT ON COLUMN absence_changes.cause IS 'HUB: the hub says so. VANISHED: its records have left the hub, no one withdrew it. MERGED: it goes on as merged_into.';
COMMENT ON COLUMN absence_changes.snapshot IS 'True: the step was there when Rollcall first read the absences, and is not news.';

-- An event that is published again has new versions, from which fields may have been taken out, but is what it was: news or not.
CREATE FUNCTION keep_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.snapshot := OLD.snapshot;
  NEW.published_at := OLD.published_at;
  RETURN NEW;
END $$;
CREATE TRIGGER keep_snapshot BEFORE UPDATE ON absence_changes FOR EACH ROW EXECUTE FUNCTION keep_snapshot();

-- How far everything is ---------------------------------------------------------------------------------------------------------

CREATE TABLE progress (
  collection text PRIMARY KEY,
  sequence bigint,
  transaction_id text,
  sync_id text,
  mode text,
  complete boolean,
  started_at timestamptz,
  rows_seen bigint,
  rows_published bigint,
  rows_rejected bigint,
  rows_removed bigint,
  rows_on_hold bigint,
  total_at_start bigint,
  total_at_end bigint,
  watermark timestamptz,
  offsets hstore,
  life_id text,
  owner text,
  owned_since timestamptz,
  time_zone text
);
COMMENT ON TABLE progress IS 'How far Rollcall is with each collection. Rows whose collection begins with @ are its own.';
COMMENT ON COLUMN progress.watermark IS 'What the hub changed before this time is in the topic.';
COMMENT ON COLUMN progress.offsets IS 'The last record of each partition, <topic>/<partition>.';
COMMENT ON COLUMN progress.life_id IS 'If it changes, the topic was recreated, or lost records. Then the table begins again.';

CREATE TABLE progress_full (
  collection text PRIMARY KEY,
  sync_id text,
  started_at timestamptz,
  offsets hstore,
  rows bigint,
  rows_not_found bigint,
  rows_rejected bigint,
  rows_without_id bigint,
  rows_on_hold bigint
);
COMMENT ON TABLE progress_full IS 'The last full sync of each collection that was complete. A consumer that has read beyond its offsets lacks nothing that the hub had at started_at, except rejects.';

CREATE TABLE rejects (
  key text PRIMARY KEY,
  collection text NOT NULL,
  sourced_id text,
  reason text NOT NULL,
  row text,
  first_seen_at timestamptz,
  published_at timestamptz
);
COMMENT ON TABLE rejects IS 'Rows that Rollcall could not decode, and that are in no other table.';

CREATE TABLE positions (
  topic text,
  partition integer,
  next_offset bigint NOT NULL,
  PRIMARY KEY (topic, partition)
);
COMMENT ON TABLE positions IS 'How far the sink is, as Kafka Connect says: positions.sql fills it.';

CREATE TABLE lives (
  collection text PRIMARY KEY,
  life_id text
);
COMMENT ON TABLE lives IS 'Which life of each topic the tables were filled from: see lives.sql and begin-again.sh.';

-- One row for each collection that has a table here. If a topic was recreated, the sink may have missed its beginning.
CREATE VIEW copy_state AS
SELECT collection, watermark, records_behind, complete_as_of, is_beyond AND NOT recreated AS whole,
  rows_not_found, rows_rejected, rows_on_hold, recreated
FROM (
  SELECT
    p.collection,
    p.watermark,
    (SELECT sum(greatest(o.value::bigint + 1 - coalesce(s.next_offset, 0), 0))
      FROM each(p.offsets) o LEFT JOIN positions s ON o.key = s.topic || '/' || s.partition
      WHERE o.key LIKE '%.' || p.collection || '/%') AS records_behind,
    f.started_at AS complete_as_of,
    (SELECT f.sync_id IS NOT NULL AND coalesce(bool_and(coalesce(s.next_offset > o.value::bigint, false)), true)
      FROM each(f.offsets) o LEFT JOIN positions s ON o.key = s.topic || '/' || s.partition
      WHERE o.key LIKE '%.' || p.collection || '/%') AS is_beyond,
    f.rows_not_found,
    f.rows_rejected,
    f.rows_on_hold,
    l.life_id IS NOT NULL AND p.life_id IS DISTINCT FROM l.life_id AS recreated
  FROM progress p
  LEFT JOIN progress_full f USING (collection)
  LEFT JOIN lives l USING (collection)
  WHERE to_regclass(replace(p.collection, '-', '_')) IS NOT NULL
) states;
