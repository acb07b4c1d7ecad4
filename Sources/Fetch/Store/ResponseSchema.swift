internal import Commands
internal import GRDB

internal import struct Foundation.Data

/// The tables of the index of responses. Times are Unix time in milliseconds, ages milliseconds.
enum ResponseSchema {
    /// Makes an empty index, in the place of one of another version.
    static let make = """
        DROP TABLE IF EXISTS response;
        DROP TABLE IF EXISTS usage;
        CREATE TABLE response(
            id INTEGER PRIMARY KEY,
            url TEXT NOT NULL,
            partition TEXT NOT NULL,
            vary TEXT NOT NULL,
            status INTEGER NOT NULL,
            headers TEXT NOT NULL,
            body BLOB,
            bytes INTEGER NOT NULL,
            sha256 TEXT NOT NULL,
            requested_at INTEGER NOT NULL,
            responded_at INTEGER NOT NULL,
            validated_at INTEGER NOT NULL,
            age_at_receipt INTEGER NOT NULL,
            fresh_until INTEGER NOT NULL,
            stale_error_until INTEGER NOT NULL,
            stale_while_until INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            etag TEXT,
            last_modified TEXT,
            used_at INTEGER NOT NULL,
            command TEXT,
            UNIQUE(url, partition, vary));
        CREATE INDEX response_used ON response(used_at);
        CREATE INDEX response_body ON response(sha256) WHERE body IS NULL;
        CREATE TABLE usage(count INTEGER NOT NULL, bytes INTEGER NOT NULL);
        INSERT INTO usage VALUES (0, 0);
        CREATE TRIGGER response_inserted AFTER INSERT ON response
            BEGIN UPDATE usage SET count = count + 1, bytes = bytes + new.bytes; END;
        CREATE TRIGGER response_deleted AFTER DELETE ON response
            BEGIN UPDATE usage SET count = count - 1, bytes = bytes - old.bytes; END;
        """

    /// - Parameter body: nil: it is in a file.
    static func insert(_ response: StoredResponse, body: [UInt8]?, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO response(url, partition, vary, body, bytes, sha256, requested_at, responded_at, command,
                    status, headers, validated_at, age_at_receipt, fresh_until, stale_error_until, stale_while_until,
                    flags, etag, last_modified, used_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: response.key.arguments + [
                body.map { Data($0) }, response.bytes, response.sha256, response.requestedAt.milliseconds,
                response.respondedAt.milliseconds, response.command?.description,
            ] + response.changing)
    }

    /// Writes the columns that a 304 changes. The body stays.
    static func update(_ response: StoredResponse, from key: CacheKey, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE response SET vary = ?, status = ?, headers = ?, validated_at = ?, age_at_receipt = ?,
                    fresh_until = ?, stale_error_until = ?, stale_while_until = ?, flags = ?, etag = ?,
                    last_modified = ?, used_at = ?
                WHERE url = ? AND partition = ? AND vary = ?
                """,
            arguments: [response.key.vary] + response.changing + key.arguments)
    }
}
