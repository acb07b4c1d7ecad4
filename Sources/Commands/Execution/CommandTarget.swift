/// The URL that a command's payload names, as a number: commands with the same one ask for the same thing. The
/// coordinator and the workers compute it alike, so that no message has a URL.
package struct CommandTarget: Hashable, Sendable {
    /// 64-bit FNV-1a.
    package var hash: UInt64

    /// Members that name a URL or an object, of every operation that talks to a destination.
    private static let members = ["to", "url", "endpoint", "bucket", "key", "presigned"]

    package init(hash: UInt64) { self.hash = hash }

    /// - Returns: nil where the payload names none of them.
    package init?(payload: some Collection<UInt8>) {
        guard let value = try? JSONValue(parsing: payload) else { return nil }
        var parts = Self.members.compactMap { value[$0]?.string }
        guard let last = parts.last else { return nil }
        // A directory takes the name of the file.
        if last.hasSuffix("/"), let file = value["file"]?.string { parts.append(file) }
        var hash: UInt64 = 14_695_981_039_346_656_037
        for part in parts {
            for byte in part.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
            hash = (hash ^ 0xFF) &* 1_099_511_628_211
        }
        self.hash = hash
    }
}
