-- Child tables, one for each array of records: run this once, before Flink starts. A row is the element at one place of the array.
-- The first column is the key of the row that has the array. There are no foreign keys: tables are filled side by side.

CREATE TABLE user_roles (
  user_id text, place integer, role_type text, role text, org_id text, user_profile text, begin_date date, end_date date,
  PRIMARY KEY (user_id, place)
);
CREATE INDEX ON user_roles (org_id, role);
COMMENT ON TABLE user_roles IS 'What a user is, where, and from when to when.';

CREATE TABLE user_agents (user_id text, place integer, sourced_id text, PRIMARY KEY (user_id, place));
COMMENT ON TABLE user_agents IS 'The guardians of a user, and the children of a guardian. Both are users.';

CREATE TABLE user_ids (user_id text, place integer, type text, identifier text, PRIMARY KEY (user_id, place));

CREATE TABLE user_profiles (
  user_id text, place integer, profile_id text, profile_type text, vendor_id text, application_id text, description text,
  PRIMARY KEY (user_id, place)
);
COMMENT ON TABLE user_profiles IS 'Without credentials.';

CREATE TABLE user_resources (user_id text, place integer, sourced_id text, PRIMARY KEY (user_id, place));
CREATE TABLE class_terms (class_id text, place integer, sourced_id text, PRIMARY KEY (class_id, place));
COMMENT ON TABLE class_terms IS 'The academic sessions of a class.';
CREATE TABLE class_resources (class_id text, place integer, sourced_id text, PRIMARY KEY (class_id, place));
CREATE TABLE course_resources (course_id text, place integer, sourced_id text, PRIMARY KEY (course_id, place));
CREATE TABLE org_children (org_id text, place integer, sourced_id text, PRIMARY KEY (org_id, place));
CREATE TABLE session_children (session_id text, place integer, sourced_id text, PRIMARY KEY (session_id, place));
CREATE TABLE absence_schools (absence_id text, place integer, sourced_id text, PRIMARY KEY (absence_id, place));

CREATE TABLE lessons (
  day text, place integer, student_id text, lesson_id text, title text, starts timestamptz, ends timestamptz, cancelled boolean,
  PRIMARY KEY (day, place)
);
CREATE INDEX ON lessons (student_id, starts);
COMMENT ON TABLE lessons IS 'The lessons of a student on a day. The key of a day is <student>|<date>.';
CREATE TABLE lesson_classes (day text, place integer, class_place integer, sourced_id text, PRIMARY KEY (day, place, class_place));
CREATE TABLE lesson_teachers (day text, place integer, teacher_place integer, sourced_id text, PRIMARY KEY (day, place, teacher_place));

CREATE TABLE learning_objectives (
  topic text, row_id text, place integer, objective_place integer, source text, learning_objective_id text, score double precision,
  text_score text,
  PRIMARY KEY (topic, row_id, place, objective_place)
);
COMMENT ON TABLE learning_objectives IS 'Of results, assessment-results, line-items and assessment-line-items; only results have scores.';
