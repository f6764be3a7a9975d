-- Memories of a project that owners share: members of the role `team` can read them, and only their owner can write and withdraw
-- them. `quote` is empty if the owner does not share it. These rows are not replicated to SQLite stores; machines read them here.
CREATE TABLE kept.shared (
    team     text COLLATE "C" NOT NULL,
    owner    text COLLATE "C" NOT NULL DEFAULT current_user,
    id       text COLLATE "C" NOT NULL,
    category text COLLATE "C" NOT NULL,
    content  text COLLATE "C" NOT NULL,
    quote    text COLLATE "C" NOT NULL,
    at       text COLLATE "C" NOT NULL,
    PRIMARY KEY (team, owner, id)
);

CREATE FUNCTION kept.is_in_team(team text) RETURNS boolean LANGUAGE sql STABLE AS
    'SELECT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = team AND pg_catalog.pg_has_role(current_user, oid, ''MEMBER''))';

ALTER TABLE kept.shared ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept.shared FORCE ROW LEVEL SECURITY;
CREATE POLICY team_reads ON kept.shared FOR SELECT USING (owner = current_user OR kept.is_in_team(team));
CREATE POLICY owner_adds ON kept.shared FOR INSERT WITH CHECK (owner = current_user AND kept.is_in_team(team));
CREATE POLICY owner_changes ON kept.shared FOR UPDATE USING (owner = current_user) WITH CHECK (owner = current_user AND kept.is_in_team(team));
CREATE POLICY owner_takes_back ON kept.shared FOR DELETE USING (owner = current_user);
GRANT SELECT, INSERT, UPDATE, DELETE ON kept.shared TO PUBLIC;
