-- Times are timestamptz. psql shows them in the zone of its session, with their offset from UTC: 08:30:00+00 is UTC. For another zone, run
-- SET TIME ZONE 'Europe/Oslo' first.

-- How fresh is this copy, and is it whole? Every change that the hub made before the time in watermark is in the topic. If records_behind
-- is 0, the change is in the table, too. The watermark is normally 5 to 6 minutes old. If it is older, Connect or Rollcall stands still.
-- If whole is true, the table lacks nothing that the hub had at complete_as_of, except what is in rejects.
SELECT collection, watermark, records_behind, complete_as_of, whole, rows_rejected, rows_on_hold, recreated
FROM copy_state
ORDER BY collection;

-- Who is absent now? (Nobody is absent at a weekend or in the evening.) This shows the first ten.
SELECT u.given_name, u.family_name, o.name AS school, c.title AS class, a.from_time, a.to_time
FROM absences a
LEFT JOIN users u ON u.sourced_id = a.student_sourced_id
LEFT JOIN orgs o ON o.sourced_id = a.school_id
LEFT JOIN classes c ON c.sourced_id = a.classes_affected_sourced_id
WHERE a.from_time <= now() AND a.to_time > now()
ORDER BY school, family_name, given_name
LIMIT 10;

-- How many absences and absent students has each school in each week? Weeks and days are those of the tenant's clock. An
-- absence counts in the week in which it begins, whether it is from one class or from the whole day. This shows the first ten rows: leave
-- out LIMIT to see all.
SELECT
  coalesce(o.name, a.school_id, 'unknown, or several') AS school,
  date_trunc('week', a.from_time AT TIME ZONE p.time_zone)::date AS week,
  count(*) AS absences,
  count(DISTINCT a.student_sourced_id) AS students
FROM absences a
CROSS JOIN (SELECT time_zone FROM progress WHERE collection = 'absences') p
LEFT JOIN orgs o ON o.sourced_id = a.school_id
GROUP BY 1, 2
ORDER BY week DESC, school
LIMIT 10;

-- What changed today? Snapshots are left out, because they are not news: the hub had them when Rollcall first read the absences.
SELECT
  h.detected_at, h.operation, h.cause, h.step, u.given_name, u.family_name,
  h.version_from_time, h.version_to_time, h.previous_version_from_time, h.previous_version_to_time
FROM absence_changes h
CROSS JOIN (SELECT time_zone FROM progress WHERE collection = 'absences') p
LEFT JOIN users u ON u.sourced_id = h.version_student_sourced_id
WHERE NOT h.snapshot AND h.detected_at >= date_trunc('day', now(), p.time_zone)
ORDER BY h.detected_at DESC, h.absence_id, h.step DESC
LIMIT 10;
