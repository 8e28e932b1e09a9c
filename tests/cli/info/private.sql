INSERT INTO meta VALUES('finished', 1), ('private', 1);
