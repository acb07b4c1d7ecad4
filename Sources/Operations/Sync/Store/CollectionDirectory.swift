internal import Commands
internal import Glibc
internal import HTTPClient
package import Host

/// The collections of a data directory: the names of their files and locks.
///
/// ```
/// <data>/collections/               0700; made with the first sync
///   <name>.sqlite                   0600; with -wal and -shm beside it, which stay
/// <data>/run/collection-<name>.lock ``CollectionLock``
/// ```
package struct CollectionDirectory: Sendable, Hashable {
    /// `<data>/collections`
    package let path: String
    private let run: String

    private static let suffix = ".sqlite"

    /// - Parameter data: the path of the data directory.
    package init(data: String) {
        path = "\(data)/collections"
        run = "\(data)/run"
    }

    package func file(_ name: String) -> String { "\(path)/\(name)\(Self.suffix)" }

    func lock(_ name: String) -> String { "\(run)/collection-\(name).lock" }

    /// Whether a text is the name of a collection: 1 to 64 of a to z, 0 to 9 and the hyphen.
    package static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0 >= UInt8(ascii: "a") && $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") }
    }

    /// The names of the collections, sorted; none where nothing was ever synced.
    package func names() throws(SystemError) -> [String] {
        guard let listing = opendir(path) else {
            if errno == ENOENT { return [] }
            throw SystemError("read", path)
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let file, file.endsWithBytes(of: Self.suffix) else { continue }
            let name = String(file.dropLast(Self.suffix.count))
            if Self.isName(name) { names.append(name) }
        }
        return names.sorted()
    }

    /// Makes the directory, and an empty file for a collection that has none.
    func make(_ name: String) throws(SystemError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw SystemError("create the directory", path) }
        close(try openFile(file(name), O_RDWR | O_CREAT | O_NOFOLLOW))
    }

    package func exists(_ name: String) -> Bool { access(file(name), F_OK) == 0 }
}
