internal import Crypto
internal import NIOCore

/// What would be on a server's disk: for each path how much of it, but not the bytes.
package struct StoredFiles: Sendable {
    package struct File: Sendable {
        /// Bytes kept, from the start.
        package fileprivate(set) var kept: Int64 = 0
        /// The size that was declared, for tus.
        package internal(set) var total: Int64?
        /// The connection that writes it now.
        var writer: Int?
        private var position: Int64 = 0
        private var hash: SHA256?

        /// Begins to write at `offset`, which leaves no hole.
        mutating func seek(_ offset: Int64, hashes: Bool) {
            if offset == 0 { (kept, hash) = (0, hashes ? SHA256() : nil) }
            // Overwriting what is there is not hashed twice: it is the same bytes, or the hash means nothing.
            if offset != kept { hash = nil }
            position = offset
        }

        fileprivate mutating func write(_ bytes: ByteBuffer) {
            position += Int64(bytes.readableBytes)
            kept = max(kept, position)
            if hash != nil { bytes.withUnsafeReadableBytes { hash?.update(bufferPointer: $0) } }
        }

        /// In hexadecimal, where hashes were on from its start.
        package var sha256: String? { hash.map { hexadecimal($0.finalize()) } }
    }

    package private(set) var all: [String: File] = [:]
    private var created = 0

    package internal(set) subscript(path: String) -> File? {
        get { all[path] }
        set { all[path] = newValue }
    }

    /// A new upload of tus; its path.
    mutating func create(below path: String, total: Int64) -> String {
        created += 1
        let location = (path.hasSuffix("/") ? path : path + "/") + "\(created)"
        var file = File()
        file.total = total
        all[location] = file
        return location
    }

    /// Writes where the connection is the one that writes the file.
    mutating func write(_ bytes: ByteBuffer, to path: String, by connection: Int) {
        guard all[path]?.writer == connection else { return }
        all[path]?.write(bytes)
    }

    /// The connection writes no more.
    mutating func release(_ path: String, by connection: Int) {
        if all[path]?.writer == connection { all[path]?.writer = nil }
    }

    mutating func forget() { all = [:] }
}
