-- Temporary triggers for each table in `tallies`, created by every connection. TABLE is replaced by the table's name.
CREATE TEMP TRIGGER TABLE_added AFTER INSERT ON main.TABLE BEGIN
    UPDATE tallies SET count = count + 1, total = total + NEW.checksum WHERE name = 'TABLE';
END;
CREATE TEMP TRIGGER TABLE_changed AFTER UPDATE ON main.TABLE WHEN NEW.checksum <> OLD.checksum BEGIN
    UPDATE tallies SET total = total + NEW.checksum - OLD.checksum WHERE name = 'TABLE';
END;
CREATE TEMP TRIGGER TABLE_dropped AFTER DELETE ON main.TABLE BEGIN
    UPDATE tallies SET count = count - 1, total = total - OLD.checksum WHERE name = 'TABLE';
END;
