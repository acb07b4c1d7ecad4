internal import Commands
internal import Glibc
internal import NIOCore
internal import NIOHTTP1

/// The secrets of one request. A server may repeat them in its response; the stored response shows
/// `[redacted]` instead.
package struct SecretValues: Sendable {
    /// The longest first, so that a part of a secret is not replaced before the whole.
    private let values: [[UInt8]]

    /// The minimum length of a secret in bytes. Shorter values occur by chance.
    private static let minLength = 5

    /// - Parameters:
    ///   - credential: the value of its header field.
    ///   - headers: the header fields of the payload. Those whose names say so are secrets.
    package init(credential: String?, headers: [(name: String, value: String)]) {
        var values: Set<[UInt8]> = []
        let fields = headers.filter { HTTPHeaderRedaction.isSecret($0.name) }.map(\.value)
        for value in [credential].compactMap({ $0 }) + fields {
            values.insert(Array(value.utf8))
            let parts = value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2 else { continue }
            values.insert(Array(parts[1]))
            guard Substring(parts[0]).lowercased() == "basic", let plain = Base64.decode(parts[1]) else { continue }
            values.insert(plain)
            if let colon = plain.firstIndex(of: UInt8(ascii: ":")) { values.insert(Array(plain[(colon + 1)...])) }
        }
        self.values = values.filter { $0.count >= Self.minLength }.sorted { $0.count > $1.count }
    }

    /// Replaces the secrets in a response.
    /// - Parameter needed: names, in lower case, of header fields that a later request needs unchanged.
    package func redact(_ record: inout HTTPRecord, except needed: Set<String> = []) {
        guard !values.isEmpty, let head = record.head, head.status != .partialContent else { return }
        if let body = redacted(record.body.readableBytesView) { record.body = ByteBuffer(bytes: body) }
        for (name, value) in head.headers where !needed.contains(name.lowercased()) {
            guard let clean = redacted(value.utf8) else { continue }
            record.head?.headers.replaceOrAdd(name: name, value: String(decoding: clean, as: UTF8.self))
        }
        if let clean = redacted(head.status.reasonPhrase.utf8) {
            record.head?.status = .custom(
                code: head.status.code, reasonPhrase: String(decoding: clean, as: UTF8.self))
        }
    }

    /// Whether a text has one of the secrets.
    package func areIn(_ text: [UInt8]) -> Bool { values.contains { text[...].firstRange(ofBytes: $0) != nil } }

    /// - Returns: nil where the text contains no secret.
    private func redacted(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes = Array(text)
        var isChanged = false
        for value in values {
            guard var range = bytes[...].firstRange(ofBytes: value) else { continue }
            // One pass: a secret may be a part of its replacement.
            var clean: [UInt8] = []
            var rest = bytes[...]
            while true {
                clean += rest[..<range.lowerBound] + Array(HTTPHeaderRedaction.replacement.utf8)
                rest = rest[range.upperBound...]
                guard let next = rest.firstRange(ofBytes: value) else { break }
                range = next
            }
            bytes = clean + rest
            isChanged = true
        }
        return isChanged ? bytes : nil
    }
}

extension ArraySlice<UInt8> {
    /// Finds bytes. The standard library's `firstRange(of:)` takes many times as long.
    /// - Parameter pattern: one byte or more.
    func firstRange(ofBytes pattern: [UInt8]) -> Range<Int>? {
        guard let first = pattern.first else { return nil }
        let offset: Int? = withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while start + pattern.count <= bytes.count {
                guard let hit = memchr(base + start, Int32(first), bytes.count - pattern.count + 1 - start) else {
                    return nil
                }
                start = UnsafeRawPointer(hit) - base
                if memcmp(hit, pattern, pattern.count) == 0 { return start }
                start += 1
            }
            return nil
        }
        return offset.map { startIndex + $0..<startIndex + $0 + pattern.count }
    }
}
