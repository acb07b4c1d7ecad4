package import Commands
internal import Glibc
package import Host

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

extension DataDirectory {
    /// Whether the directory is on a file system that cannot be written to.
    var isReadOnly: Bool { access(path, W_OK) != 0 && errno == EROFS }

    /// Makes the directories that are missing, and refuses those that other users can read or write.
    package func prepare() throws(StoreError) {
        try makeParents()
        for directory in directories {
            try make(directory)
            try Self.check(directory, isDirectory: true)
        }
    }

    /// Refuses a directory that other users can read or write. One that is missing is not refused.
    package func checkPrivacy() throws(StoreError) {
        if access(path, F_OK) == 0 { try Self.check(path, isDirectory: true) }
    }

    /// The numbers of the existing shards, in order.
    package func shards() throws(StoreError) -> [Int] {
        try Self.names(path).compactMap { name in
            guard name.hasPrefix(Self.shardPrefix), name.hasSuffix(Self.shardSuffix),
                let number = Int(name.dropFirst(Self.shardPrefix.count).dropLast(Self.shardSuffix.count)),
                shard(number) == "\(path)/\(name)"
            else { return nil }
            return number
        }.sorted()
    }

    /// The names of the entries of a directory; none where it is missing. A name that is not valid UTF-8 does
    /// not belong to Sluice and is left out.
    package static func names(_ path: String) throws(StoreError) -> [String] {
        guard let listing = opendir(path) else {
            if errno == ENOENT { return [] }
            throw StoreError(SystemError("read", path))
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

    /// - Throws: where the file belongs to another user, is open to others, or is of another kind.
    package static func check(_ path: String, isDirectory: Bool) throws(StoreError) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw StoreError(SystemError("stat", path)) }
        guard (facts.st_mode & S_IFMT == S_IFDIR) == isDirectory else {
            throw StoreError(
                .permission, "\(path) is not a \(isDirectory ? "directory" : "file"); move it out of the way.")
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

    /// Makes a directory durably: a directory that a power cut removes takes all its files with it.
    private func make(_ directory: String) throws(StoreError) {
        guard mkdir(directory, 0o700) == 0 else {
            if errno == EEXIST { return }
            throw StoreError(SystemError("create", directory))
        }
        // A directory that cannot be read cannot be opened, and so not synced.
        let parent = "\(directory)/.."
        if access(parent, R_OK) == 0 { try sync(parent) }
    }
}

/// `<data>/spool`: copies of sources that belong to Sluice, so that later changes of the originals have no
/// effect.
package struct Spool: Sendable {
    /// An existing directory with mode 0700.
    package let directory: String
    /// The umask of the process that submits: permissions that a copy to a `file:` URL does not get.
    package let umask: UInt32

    package init(directory: String, umask: UInt32 = 0) {
        self.directory = directory
        self.umask = umask
    }

    /// Deletes the copy that a payload names, if it is in this spool. For a failed submit, or a command that
    /// is pruned.
    package func discard(_ payload: JSONValue) {
        if let file = payload["file"]?.string { discard(file: file) }
    }

    /// Deletes a file of this spool and no other. The path may name the directory in any way: relative,
    /// through a link, or with a slash at its end.
    package func discard(file: String) {
        // A file without the name of a copy is not even examined: it may be on a hung file system.
        guard CommandID(file.lastPathName) != nil else { return }
        let parent = file.parentPath
        var theirs = stat()
        var ours = stat()
        guard stat(parent, &theirs) == 0, stat(directory, &ours) == 0, theirs.st_dev == ours.st_dev,
            theirs.st_ino == ours.st_ino
        else { return }
        unlink(file)
    }

    /// As ``discard(_:)``, of a stored payload.
    package func discard(stored payload: [UInt8]) {
        if let payload = try? JSONValue(parsing: payload) { discard(payload) }
    }
}
