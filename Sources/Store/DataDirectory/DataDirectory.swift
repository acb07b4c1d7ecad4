internal import CLinux

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// Where everything of one Sluice is: shards, spool, sockets, locks, keys. Private to its user.
package struct DataDirectory: Sendable, Hashable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Sockets and locks.
    package var run: String { "\(path)/run" }
    package var spool: String { "\(path)/spool" }
    package var keys: String { "\(path)/keys" }
    package var configuration: String { "\(path)/sluice.yaml" }
    /// It and those inside it, in the order in which they are made.
    var directories: [String] { [path, run, spool, keys] }

    package func shard(_ number: Int) -> String { "\(path)/shard-\(number < 10 ? "0" : "")\(number).sqlite" }

    /// The lock file of that name: `create`, `checkpoint`, `coordinator`, `seat-NN`.
    package func lock(_ name: String) -> String { "\(run)/\(name).lock" }

    /// Makes the directories that are missing, and refuses those that somebody else can read or write.
    /// - Throws: ``StoreError`` that names the directory.
    package func prepare() throws(StoreError) {
        try makeParents()
        for directory in directories {
            try make(directory)
            try Self.check(directory, isDirectory: true)
        }
    }

    /// Numbers of the shards that are there, in order.
    package func shards() throws(StoreError) -> [Int] {
        try Self.names(path).compactMap { name in
            guard name.hasPrefix("shard-"), name.hasSuffix(".sqlite"),
                let number = Int(name.dropFirst("shard-".count).dropLast(".sqlite".count)),
                shard(number) == "\(path)/\(name)"
            else { return nil }
            return number
        }.sorted()
    }

    /// Names of what is in a directory; none where it is missing. A name that is not valid UTF-8 is none of Sluice's, and left
    /// out.
    package static func names(_ path: String) throws(StoreError) -> [String] {
        guard let listing = opendir(path) else {
            if errno == ENOENT { return [] }
            throw StoreError(errno: errno, "The directory \(path) cannot be read")
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name { names.append(name) }
        }
        return names
    }

    /// Refuses what belongs to somebody else or is open to others.
    static func check(_ path: String, isDirectory: Bool) throws(StoreError) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw StoreError(errno: errno, "\(path) cannot be looked at") }
        guard (facts.st_mode & S_IFMT == S_IFDIR) == isDirectory else {
            throw StoreError(
                .permission, "\(path) is no \(isDirectory ? "directory" : "file"); move it out of the way.")
        }
        guard facts.st_uid == geteuid() else {
            throw StoreError(
                .permission, "\(path) belongs to user \(facts.st_uid), and this process runs as user \(geteuid()).")
        }
        let mode = facts.st_mode & 0o777
        guard mode & 0o077 == 0 else {
            let wanted = isDirectory ? "0700" : "0600"
            throw StoreError(
                .permission, "\(path) has mode 0\(String(mode, radix: 8)), open to others; chmod \(wanted) it.")
        }
    }

    private func makeParents() throws(StoreError) {
        for index in path.utf8.indices.dropFirst() where path.utf8[index] == UInt8(ascii: "/") {
            let parent = String(path[..<index])
            var facts = stat()
            if stat(parent, &facts) != 0 { try make(parent) }
        }
    }

    /// Makes a directory, durably: one that a power cut takes away takes everything in it along.
    private func make(_ directory: String) throws(StoreError) {
        guard mkdir(directory, 0o700) == 0 else {
            if errno == EEXIST { return }
            throw StoreError(errno: errno, "The directory \(directory) cannot be made")
        }
        // One that may be written and not read cannot be synced.
        let parent = "\(directory)/.."
        if access(parent, R_OK) == 0 { try sync(parent) }
    }
}
