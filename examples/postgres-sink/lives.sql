-- Remembers which life of each topic the tables are filled from: once, after the first load. begin-again.sh does so for a topic that
-- was recreated.
INSERT INTO lives SELECT collection, life_id FROM progress WHERE collection NOT LIKE '@%'
ON CONFLICT (collection) DO NOTHING;
