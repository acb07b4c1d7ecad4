package import Commands
package import Host
package import Store

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The access token of this machine, with all scopes but `grant`: the door makes it at its first start, in a file that only the user
/// of the data directory can read. The command line and the first login use it.
package enum MachineToken {
    /// The name of its record, which no other token gets.
    package static let name = "local"

    /// A session that a browser has with it makes no tokens.
    private static let scopes = Set(Scope.allCases).subtracting([.grant])

    /// Reads the token, or makes one. A token that was revoked is replaced. Blocks.
    /// - Throws: `permission` where other users can read the file, `invalid` where the file has no token.
    package static func load(
        in directory: DataDirectory, _ store: TokenStore, now: Timestamp
    ) throws(StoreError) -> AccessToken {
        let path = directory.doorToken
        let records = try store.tokens().records.filter { $0.name == name && $0.maker == nil }
        if access(path, F_OK) == 0 {
            try DataDirectory.check(path, isDirectory: false)
            let token: AccessToken
            do throws(AccessTokenError) {
                token = try AccessToken(parsing: (TextFile.read(path) ?? "").prefix { $0 != "\n" })
            } catch {
                throw StoreError(
                    .invalid, "\(path) cannot be used: \(error). Remove the file, and the door makes a new one.")
            }
            guard let record = records.first(where: { $0.id == token.id }) else {
                // The store is older than the file: restored from a backup, or the door ended between file and record.
                try replaceRecord(of: token, records, in: store, now: now)
                return token
            }
            if record.matches(token), record.state(at: now) == .usable { return token }
        }
        let token = AccessToken()
        // The file comes first: a record without its token would be useless.
        try write(token, to: path, in: directory)
        try replaceRecord(of: token, records, in: store, now: now)
        return token
    }

    /// Revokes the earlier tokens of the machine, whose file is gone.
    private static func replaceRecord(
        of token: AccessToken, _ earlier: [TokenRecord], in store: TokenStore, now: Timestamp
    ) throws(StoreError) {
        for record in earlier where record.revoked == nil { _ = try store.revoke(record.id, now: now) }
        try store.add(TokenRecord(token, name: name, scopes: scopes, created: now), now: now)
    }

    private static func write(_ token: AccessToken, to path: String, in directory: DataDirectory) throws(StoreError) {
        do throws(SystemError) {
            let part = "\(path).part"
            let descriptor = try openFile(part, O_WRONLY | O_CREAT | O_TRUNC)
            defer { close(descriptor) }
            let text = "\(token.text)\n"
            let count = text.utf8.count
            guard fchmod(descriptor, 0o600) == 0, text.withCString({ Glibc.write(descriptor, $0, count) }) == count,
                fsync(descriptor) == 0
            else { throw SystemError("write", part) }
            guard rename(part, path) == 0 else { throw SystemError("rename", part) }
            try syncFile(directory.keys)
        } catch {
            throw StoreError(error)
        }
    }
}
