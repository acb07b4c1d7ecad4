internal import Crypto
internal import HTTPClient
internal import Host
internal import Transfers

/// `Repr-Digest` (RFC 9530): `sha-256=:base64:`, the digest of the whole file.
enum ReprDigest {
    private static let step = 1 << 20

    /// - Parameter fields: the values of all `Repr-Digest` fields.
    /// - Returns: 32 bytes in base64; nil without a valid SHA-256.
    static func sha256(_ fields: [String]) -> String? {
        for member in fields.flatMap({ $0.split(separator: ",") }).map(\.trimmed) {
            guard let mark = member.firstIndex(of: "="), member[..<mark].trimmed.lowercased() == "sha-256" else {
                continue
            }
            // Parameters follow a semicolon.
            let value = member[member.index(after: mark)...].prefix { $0 != ";" }.trimmed
            guard value.hasPrefix(":"), value.hasSuffix(":"), value.utf8.count == 46 else { return nil }
            return String(value.dropFirst().dropLast())
        }
        return nil
    }

    /// Reads the whole source. Blocks.
    /// - Parameter read: is called with the number of bytes so far.
    /// - Returns: its SHA-256 in base64.
    /// - Throws: ``SystemError``.
    static func sha256(of source: SourceFile, read: (_ bytes: Int64) -> Void = { _ in }) throws -> String {
        var hash = SHA256()
        var offset: Int64 = 0
        var bytes = [UInt8](repeating: 0, count: step)
        while offset < source.identity.size {
            let count = try bytes.withUnsafeMutableBytes { try source.read(into: $0, at: offset) }
            guard count > 0 else { break }
            bytes.withUnsafeBytes { hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
            offset += Int64(count)
            read(offset)
        }
        return Base64.encode(hash.finalize())
    }
}
