-- On a Monday at 09:30 in Oslo, Ada is absent for a lesson, and was absent before it; Bo, whose school is unknown, since shortly before
-- that Monday began. Of the topic of absences, which was recreated, two records are still to come.
INSERT INTO users (sourced_id, given_name, family_name) VALUES ('u1', 'Ada', 'Berg'), ('u2', 'Bo', 'Dahl');
INSERT INTO orgs (sourced_id, name) VALUES ('s1', 'North');
INSERT INTO classes (sourced_id, title) VALUES ('c1', '8B');
INSERT INTO absences (absence_id, sourced_id, student_sourced_id, school_id, classes_affected_sourced_id, from_time, to_time) VALUES
  ('a1', 'v1', 'u1', 's1', 'c1', '2026-03-09T08:00Z', '2026-03-09T09:00Z'),
  ('a2', 'v2', 'u2', null, null, '2026-03-08T22:30Z', '9999-12-31T23:59Z'),
  ('a3', 'v3', 'u1', 's1', null, '2026-03-09T07:00Z', '2026-03-09T08:30Z');
INSERT INTO absence_changes (absence_id, step, operation, snapshot, cause, detected_at, version_student_sourced_id) VALUES
  ('a1', 1, 'CREATED', false, 'HUB', '2026-03-08T23:30Z', 'u1'),
  ('a2', 1, 'CREATED', false, 'HUB', '2026-03-08T22:30Z', 'u2'),
  ('a3', 1, 'CREATED', true, 'HUB', '2026-03-09T08:00Z', 'u1');
INSERT INTO progress (collection, time_zone, watermark, offsets, life_id, rows_rejected, rows_on_hold) VALUES
  ('absences', 'Europe/Oslo', '2026-03-09T08:25Z', 'p.absences/0 => 5, p.progress/0 => 90', 'l2', 0, 0),
  ('users', 'Europe/Oslo', '2026-03-09T08:25Z', 'p.users/0 => 1', 'l1', 0, 0);
INSERT INTO progress_full (collection, sync_id, started_at, offsets, rows_rejected, rows_on_hold) VALUES
  ('absences', 'f1', '2026-03-09T02:00Z', 'p.absences/0 => 3', 0, 0), ('users', 'f1', '2026-03-09T02:00Z', 'p.users/0 => 1', 2, 0);
INSERT INTO positions VALUES ('p.absences', 0, 4), ('p.users', 0, 2);
INSERT INTO lives VALUES ('absences', 'l1'), ('users', 'l1');
