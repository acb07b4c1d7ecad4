internal import GRDB
internal import Glibc
internal import Host

extension ResponseStore {
    /// The minimum age of a file that is deleted: a younger one may be in the hands of another process.
    package static let leftoverAge = 86_400

    /// Deletes the bodies that no row names, and those that were arriving when their worker died. A part that a worker
    /// writes is locked: its age says nothing where the wall clock has jumped.
    /// - Parameter age: the minimum age of a file in seconds.
    /// - Returns: the number of files.
    @discardableResult
    package func sweep(olderThan age: Int = leftoverAge) throws -> Int {
        var count = 0
        let bodies = "\(directory)/body"
        for name in Self.names(in: bodies) {
            let path = "\(bodies)/\(name)"
            if name.hasSuffix(".part") {
                if Self.isOld(path, age), FreeLock(path: path) != nil, unlink(path) == 0 { count += 1 }
                continue
            }
            for sha256 in Self.names(in: path) where Self.isOld("\(path)/\(sha256)", age) {
                if try removeUnnamed(sha256, "\(path)/\(sha256)") { count += 1 }
            }
        }
        return count
    }

    private static func isOld(_ path: String, _ age: Int) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && time(nil) - status.st_mtim.tv_sec >= age
    }

    private static func names(in path: String) -> [String] {
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let name else { continue }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
