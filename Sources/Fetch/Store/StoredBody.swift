internal import Commands
internal import GRDB
internal import Glibc
internal import Transfers

internal import struct Foundation.Data

/// A stored response with the place of its body.
struct StoredBody: Sendable, Equatable {
    enum Place: Sendable, Equatable {
        case index([UInt8])
        /// The path of a file.
        case file(String)
    }

    /// The number of the row.
    var id: Int64
    var response: StoredResponse
    var place: Place
}

extension StoredBody {
    /// Whether the body is there as it was stored. A file may have been lost with the power. Blocks.
    var isReadable: Bool {
        guard case .file(let path) = place else { return true }
        var status = stat()
        return stat(path, &status) == 0 && Int64(status.st_size) == response.bytes
    }

    /// - Returns: nil for a row that this program cannot read.
    init?(_ row: Row, in directory: String) {
        guard let headers = HeaderFields(json: row["headers"]) else { return nil }
        func time(_ column: String) -> Timestamp { Timestamp(milliseconds: row[column]) }
        let etag: String? = row["etag"]
        let command: String? = row["command"]
        let sha256: String = row["sha256"]
        id = row["id"]
        response = StoredResponse(
            key: CacheKey(url: row["url"], partition: row["partition"], vary: row["vary"]), status: row["status"],
            headers: headers, bytes: row["bytes"], sha256: sha256, requestedAt: time("requested_at"),
            respondedAt: time("responded_at"), validatedAt: time("validated_at"),
            ageAtReceipt: .milliseconds(row["age_at_receipt"] as Int64), freshUntil: time("fresh_until"),
            staleErrorUntil: time("stale_error_until"), staleWhileUntil: time("stale_while_until"),
            flags: StoredFlags(rawValue: row["flags"]), etag: etag.flatMap { EntityTag($0) },
            lastModified: row["last_modified"], usedAt: time("used_at"), command: command.flatMap { CommandID($0) })
        if let data: Data = row["body"] {
            place = .index(Array(data))
        } else {
            place = .file("\(directory)/body/\(sha256.prefix(2))/\(sha256)")
        }
    }
}

extension CacheKey {
    var arguments: StatementArguments { [url, partition, vary] }
}

extension StoredResponse {
    /// The columns that a 304 may change, from `status` to `used_at`.
    var changing: StatementArguments {
        [
            status, headers.json, validatedAt.milliseconds, ageAtReceipt.milliseconds, freshUntil.milliseconds,
            staleErrorUntil.milliseconds, staleWhileUntil.milliseconds, flags.rawValue, etag?.text, lastModified,
            usedAt.milliseconds,
        ]
    }
}

extension HeaderFields {
    /// `[["Content-Type","text/plain"],…]`, in the order of the fields.
    var json: String {
        String(
            decoding: JSONValue.array(fields.map { .array([.string($0.name), .string($0.value)]) }).bytes,
            as: UTF8.self)
    }

    init?(json text: String) {
        guard let elements = (try? JSONValue(parsing: text.utf8))?.elements else { return nil }
        var fields: [(name: String, value: String)] = []
        for element in elements {
            guard let pair = element.elements, pair.count == 2, let name = pair[0].string, let value = pair[1].string
            else { return nil }
            fields.append((name, value))
        }
        self.init(fields)
    }
}
