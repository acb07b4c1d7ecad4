internal import Commands
internal import HTTPClient
internal import HTTPTypes

/// `Upload-Metadata` of tus: keys with values in base64.
struct TusMetadata: Equatable {
    static let maxKeys = 64

    /// As it was sent. HEAD answers the same text. Clients may send an empty one.
    var text: String
    /// In their order. A key without a value has an empty one.
    var entries: [Entry] = []

    struct Entry: Equatable {
        var key: String
        var value: String
    }

    var fileName: String? { self["filename"] ?? self["name"] }
    var contentType: String? { self["filetype"] ?? self["type"] }
    var route: String? { self["route"] }

    /// Nil for a key that is not there, and for one without a value.
    subscript(_ key: String) -> String? {
        entries.first { $0.key == key }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }

    /// - Returns: nil where the field is absent.
    /// - Throws: 400 for a malformed field, for more than ``maxKeys`` keys, and for values that are not text.
    static func read(_ fields: HTTPFields) throws(Problem) -> TusMetadata? {
        let values = fields[values: .uploadMetadata]
        guard let text = values.first else { return nil }
        guard values.count == 1 else { throw refusal("is there \(values.count) times; send it once") }
        var metadata = TusMetadata(text: text)
        guard !text.trimmed.isEmpty else { return metadata }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= maxKeys else { throw refusal("has \(parts.count) keys; send at most \(maxKeys)") }
        for part in parts {
            let entry = try entry(part.trimmed)
            guard !metadata.entries.contains(where: { $0.key == entry.key }) else {
                throw refusal("has the key “\(entry.key.excerpt)” twice")
            }
            metadata.entries.append(entry)
        }
        return metadata
    }

    private static func entry(_ text: String) throws(Problem) -> Entry {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let key = String(parts.first ?? "")
        guard (1...ClientText.maxBytes).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { throw refusal("has the key “\(key.excerpt)”; a key is ASCII without spaces and commas") }
        guard let bytes = StrictBase64.decode(parts.count > 1 ? parts[1].trimmed : "") else {
            throw refusal("has a value of “\(key.excerpt)” that is not base64 with padding")
        }
        guard let value = String(validating: bytes, as: UTF8.self) else {
            throw refusal("has a value of “\(key.excerpt)” that is not UTF-8")
        }
        if let problem = ClientText.refusal(value) {
            throw refusal("has a value of “\(key.excerpt)” that \(problem)")
        }
        return Entry(key: key, value: value)
    }

    private static func refusal(_ reason: String) -> Problem {
        Problem(.badRequest, "invalid-metadata", "Upload-Metadata \(reason).")
    }
}
