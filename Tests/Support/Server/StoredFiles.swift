internal import Commands
internal import Crypto
internal import NIOCore

/// The files of a server without their bytes: the number of kept bytes of each path.
package struct StoredFiles: Sendable {
    package struct File: Sendable {
        /// The number of kept bytes.
        package fileprivate(set) var kept: Int64 = 0
        /// The declared size of a tus upload.
        package internal(set) var total: Int64?
        /// The connection that writes the file.
        var writer: Int?
        private var position: Int64 = 0
        private var hash: SHA256?

        /// Starts to write at `offset`, which is at most the size.
        mutating func seek(_ offset: Int64, hashes: Bool) {
            if offset == 0 { (kept, hash) = (0, hashes ? SHA256() : nil) }
            // Overwritten bytes are not hashed again: they are equal, or the hash is meaningless.
            if offset != kept { hash = nil }
            position = offset
        }

        fileprivate mutating func write(_ bytes: ByteBuffer) {
            position += Int64(bytes.readableBytes)
            kept = max(kept, position)
            if hash != nil { bytes.withUnsafeReadableBytes { hash?.update(bufferPointer: $0) } }
        }

        /// The SHA-256 in hexadecimal, if hashes were on from the start.
        package var sha256: String? { hash.map { Hexadecimal.text($0.finalize()) } }
    }

    package private(set) var all: [String: File] = [:]
    private var created = 0

    package internal(set) subscript(path: String) -> File? {
        get { all[path] }
        set { all[path] = newValue }
    }

    /// Makes a tus upload and returns its path.
    mutating func create(below path: String, total: Int64) -> String {
        created += 1
        let location = (path.hasSuffix("/") ? path : path + "/") + "\(created)"
        var file = File()
        file.total = total
        all[location] = file
        return location
    }

    /// Writes if the connection is the writer of the file.
    mutating func write(_ bytes: ByteBuffer, to path: String, by connection: Int) {
        guard all[path]?.writer == connection else { return }
        all[path]?.write(bytes)
    }

    /// Ends the writing of a connection.
    mutating func release(_ path: String, by connection: Int) {
        if all[path]?.writer == connection { all[path]?.writer = nil }
    }

    mutating func forget() { all = [:] }
}
