-- Remembers which life of each topic the tables are filled from: once after the first load, and again after a recreated topic was
-- read anew.
INSERT INTO lives SELECT collection, life_id FROM progress WHERE collection NOT LIKE '@%'
ON CONFLICT (collection) DO UPDATE SET life_id = excluded.life_id;
