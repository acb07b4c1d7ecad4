internal import Glibc
internal import Host

/// The user, the group and the supplementary groups of a program.
struct ProgramUser: Sendable, Equatable {
    var user: UInt32
    var group: UInt32
    var groups: [UInt32]
    var home: String

    /// The maximum size of a user's entry and number of groups.
    private static let (maxEntry, maxGroups) = (1 << 20, 65_536)

    /// Looks a user up in the system's databases. Blocks.
    /// - Returns: nil where there is no such user.
    static func named(_ name: String) throws(SystemError) -> ProgramUser? {
        var size = 4096
        while size <= maxEntry {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            let code = getpwnam_r(name, &entry, buffer, size, &found)
            if code == ERANGE {
                size *= 4
                continue
            }
            guard code == 0 || code == ENOENT || code == ESRCH else { throw SystemError(code, "look up", name) }
            guard found != nil, let home = entry.pw_dir else { return nil }
            return ProgramUser(
                user: entry.pw_uid, group: entry.pw_gid, groups: try groups(name, entry.pw_gid),
                home: String(cString: home))
        }
        throw SystemError(ERANGE, "look up", name)
    }

    private static func groups(_ name: String, _ group: UInt32) throws(SystemError) -> [UInt32] {
        var capacity = 64
        while capacity <= maxGroups {
            var count = Int32(capacity)
            var groups = [gid_t](repeating: 0, count: capacity)
            if getgrouplist(name, group, &groups, &count) >= 0 { return Array(groups.prefix(Int(count))) }
            capacity *= 4
        }
        throw SystemError(ERANGE, "look up the groups of", name)
    }

    /// The capabilities that a worker needs for programs with a user.
    static let capabilities = "CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID and CAP_SETUID"
}
