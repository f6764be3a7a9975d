-- The state of a reader is compressed. A row with a wrong checksum keeps a wrong one.
CREATE TABLE told AS SELECT * FROM files;
DROP TABLE files;
CREATE TABLE files (
    id      INTEGER PRIMARY KEY,
    source  TEXT NOT NULL,
    path    TEXT NOT NULL,
    inode   INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    prefix  TEXT NOT NULL,
    line    INTEGER NOT NULL,
    carry   BLOB NOT NULL,
    account TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (source, path)
);
INSERT INTO files SELECT id, source, path, inode, offset, prefix, line, packed(carry), account, checksum FROM told;
UPDATE files SET checksum = checksum(id, source, path, inode, offset, prefix, line, carry, account)
WHERE checksum = checksum(id, source, path, inode, offset, prefix, line, unpacked(carry), account);
UPDATE tallies SET total = total + (SELECT coalesce(sum(checksum), 0) FROM files) - (SELECT coalesce(sum(checksum), 0) FROM told)
WHERE name = 'files';
DROP TABLE told;
