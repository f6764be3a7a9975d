DROP INDEX memories_group;
CREATE INDEX memories_group ON memories (profile, scope, category, status);

-- What large groups say, by which a fact that is new finds those that it has to do with, so that only these are curated. `place` orders
-- texts by when they were first said; `tokens` are hashes of what a text is found by. Derived by curation, and of this machine.
CREATE TABLE texts (
    place   INTEGER PRIMARY KEY,
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    form    TEXT NOT NULL,
    body    TEXT NOT NULL,
    tokens  TEXT NOT NULL
);
CREATE INDEX texts_form ON texts (profile, scope, form);
CREATE VIRTUAL TABLE text_index USING fts5 (tokens, content = '', detail = none);

-- Which candidates (by id) and memories (by 'm' and id) say a text, and which memories rest on which candidates.
CREATE TABLE tellings (
    item  TEXT PRIMARY KEY,
    place INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tellings_place ON tellings (place);
CREATE TABLE rests (
    candidate TEXT NOT NULL,
    memory    TEXT NOT NULL,
    PRIMARY KEY (candidate, memory)
) WITHOUT ROWID;
CREATE INDEX rests_memory ON rests (memory);

-- The groups of which all texts are there, curated by the rules that `rules` stands for; and which of their candidates and memories changed
-- since.
CREATE TABLE settled (
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    rules   TEXT NOT NULL,
    PRIMARY KEY (profile, scope)
) WITHOUT ROWID;
CREATE TABLE unsettled (
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    item    TEXT NOT NULL,
    PRIMARY KEY (profile, scope, item)
) WITHOUT ROWID;
