import Commands
import Crypto
import NIOCore

/// What would be on the destination's disk: for each path how much of it, but not the bytes.
final class Files {
    final class File {
        /// Bytes kept, from the start.
        private(set) var kept: Int64 = 0
        /// The size that was declared, for tus.
        var total: Int64?
        /// Who writes it now.
        weak var writer: (any Channel)?
        private var position: Int64 = 0
        private var hash: SHA256?

        /// Begins to write at `offset`, which leaves no hole.
        func seek(_ offset: Int64, hashes: Bool) {
            if offset == 0 { (kept, hash) = (0, hashes ? SHA256() : nil) }
            // Overwriting what is there is not hashed twice: it is the same bytes, or the hash means nothing.
            if offset != kept { hash = nil }
            position = offset
        }

        func write(_ bytes: ByteBuffer) {
            position += Int64(bytes.readableBytes)
            kept = max(kept, position)
            if hash != nil { bytes.withUnsafeReadableBytes { hash!.update(bufferPointer: $0) } }
        }

        var sha256: String? {
            hash?.finalize().map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
        }
    }

    private(set) var all: [String: File] = [:]
    private var created = 0

    subscript(path: String) -> File? { all[path] }

    func make(_ path: String) -> File {
        if let file = all[path] { return file }
        let file = File()
        all[path] = file
        return file
    }

    /// A new upload of tus; its path.
    func create(below path: String, total: Int64) -> String {
        created += 1
        let location = (path.hasSuffix("/") ? path : path + "/") + "\(created)"
        make(location).total = total
        return location
    }

    func forget() { all = [:] }

    var json: JSONValue {
        .object(
            all.sorted { $0.key < $1.key }.map { path, file in
                var members: [JSONValue.Member] = [.init("kept", .integer(file.kept))]
                if let total = file.total { members.append(.init("total", .integer(total))) }
                if let sha256 = file.sha256 { members.append(.init("sha256", .string(sha256))) }
                return .init(path, .object(members))
            })
    }
}
