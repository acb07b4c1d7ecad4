internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The time zones of the machine, from the directory of tzdata. A zone is read again when its file changes.
package final class TimeZoneDatabase: Sendable {
    /// The database that `TZDIR` names, or else that in `/usr/share/zoneinfo`.
    package static let system = TimeZoneDatabase(
        directory: getenv("TZDIR").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } ?? defaultDirectory)

    package static let defaultDirectory = "/usr/share/zoneinfo"

    package let directory: String
    private let zones = Mutex<[String: Entry]>([:])

    private struct Entry {
        var version: TimeZoneFileVersion
        var zone: TimeZoneOffsets
    }

    /// - Parameter directory: an absolute path without a slash at its end.
    package init(directory: String) { self.directory = directory }

    /// The zone of a name. `UTC` and `Etc/UTC` need no file. A call costs one `stat`; two results are equal
    /// while the file gives the same offsets.
    /// - Parameter name: an IANA name, for example `Europe/Berlin`.
    package func zone(named name: String) throws(TimeZoneError) -> TimeZoneOffsets {
        if name == "UTC" || name == "Etc/UTC" { return .utc }
        guard Self.isName(name) else {
            throw TimeZoneError(
                name: name, reason: .malformedName,
                description: "“\(name.prefix(80))” cannot be the name of a time zone; write for example “Europe/Berlin”"
            )
        }
        let path = "\(directory)/\(name)"
        var status = stat()
        guard stat(path, &status) == 0 else { throw missing(name, errno) }
        let version = TimeZoneFileVersion(status)
        if let entry = zones.withLock({ $0[name] }), entry.version == version { return entry.zone }
        let (bytes, readVersion) = try read(path, name)
        let file: TimeZoneFile
        do {
            file = try TimeZoneFile(parsing: bytes)
        } catch {
            throw unusable(name, error.problem)
        }
        let zone = TimeZoneOffsets(name: name, firstOffset: file.firstOffset, changes: file.changes, rule: file.rule)
        zones.withLock { $0[name] = Entry(version: readVersion, zone: zone) }
        return zone
    }

    /// Whether the text is a relative path of letters, digits, `_`, `+` and `-`. A name has no dot, and so cannot
    /// lead out of the directory.
    private static func isName(_ name: String) -> Bool {
        guard (1...128).contains(name.utf8.count) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { part in
            !part.isEmpty
                && part.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "+"),
                        UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
    }

    /// The largest file; those of tzdata have at most 4 kB.
    private static let maxSize = 1 << 20

    private func read(_ path: String, _ name: String) throws(TimeZoneError) -> ([UInt8], TimeZoneFileVersion) {
        // A named pipe must not block the caller.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw missing(name, errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw unusable(name, String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw unusable(name, "it is not a file; write a whole name, for example “Europe/Berlin”")
        }
        guard status.st_size <= Self.maxSize else {
            throw unusable(name, "it is larger than 1 MiB; install tzdata anew")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress! + filled, $0.count - filled, off_t(filled))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unusable(name, String(cString: strerror(errno))) }
            guard count > 0 else { break }
            filled += count
        }
        return (Array(bytes.prefix(filled)), TimeZoneFileVersion(status))
    }

    private func missing(_ name: String, _ code: CInt) -> TimeZoneError {
        guard code == ENOENT || code == ENOTDIR else { return unusable(name, String(cString: strerror(code))) }
        let isInstalled = access(directory, F_OK) == 0
        let advice =
            isInstalled
            ? "write for example “Europe/Berlin”, or install tzdata (for old names tzdata-legacy) if the name is right"
            : "the directory does not exist; install tzdata, or name its directory in TZDIR"
        return TimeZoneError(
            name: name, reason: .missing, description: "cannot find the time zone “\(name)” in \(directory): \(advice)")
    }

    private func unusable(_ name: String, _ problem: String) -> TimeZoneError {
        TimeZoneError(
            name: name, reason: .unusable,
            description: "cannot use the time zone file “\(directory)/\(name)”: \(problem)")
    }
}

/// Identity, size and time of a file. A package manager replaces a file of tzdata by another one, so that its
/// inode changes even where the time of the change does not.
struct TimeZoneFileVersion: Hashable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    private var seconds: Int64
    private var nanoseconds: Int64

    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Glibc)
            (seconds, nanoseconds) = (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
        #else
            (seconds, nanoseconds) = (
                Int64(status.st_mtimespec.tv_sec), Int64(status.st_mtimespec.tv_nsec)
            )
        #endif
    }
}

/// Why a time zone cannot be used.
package struct TimeZoneError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Reason: Sendable, Equatable {
        /// The text cannot be a name, so that no file was looked for.
        case malformedName
        /// There is no file of this name.
        case missing
        /// The file exists and cannot be read or used.
        case unusable
    }

    package var name: String
    package var reason: Reason
    /// The problem and the remedy in a sentence: `cannot find the time zone “X” in /usr/share/zoneinfo: …`.
    package var description: String
}
