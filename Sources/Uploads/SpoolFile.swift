internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import UploadSpool

/// The file of one upload in the spool. All calls block.
final class SpoolFile: Sendable {
    let path: String
    private let descriptor: CInt
    /// Whether this call made it: its name is durable only after a sync of the directory.
    let isNew: Bool

    /// Opens the file, and makes it where there is none.
    init(_ path: String) throws(SystemError) {
        self.path = path
        let existing = clinux_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
        if existing >= 0 {
            descriptor = existing
            isNew = false
            return
        }
        guard errno == ENOENT else { throw SystemError("open", path) }
        descriptor = clinux_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError("create", path) }
        isNew = true
    }

    /// Opens a file that is there.
    init(existing path: String) throws(SystemError) {
        self.path = path
        isNew = false
        descriptor = clinux_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0)
        guard descriptor >= 0 else { throw SystemError("open", path) }
    }

    /// Opens the file of an upload, and makes it where the upload has no bytes yet.
    /// - Returns: nil where the file is missing and the upload has bytes.
    static func open(_ path: String, at offset: Int64) throws(SystemError) -> SpoolFile? {
        guard offset > 0 else { return try SpoolFile(path) }
        do throws(SystemError) { return try SpoolFile(existing: path) } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
    }

    deinit { close(descriptor) }

    var size: Int64 {
        get throws(SystemError) {
            var facts = stat()
            guard fstat(descriptor, &facts) == 0 else { throw SystemError("stat", path) }
            return Int64(facts.st_size)
        }
    }

    /// Allocates blocks up to `length`, so that the disk cannot become full before they are written. The size stays.
    /// - Returns: false where the file system cannot.
    func reserve(_ length: Int64) throws(SystemError) -> Bool {
        guard length > 0 else { return true }
        if clinux_reserve(descriptor, off_t(length)) == 0 { return true }
        guard errno != EOPNOTSUPP, errno != ENOSYS else { return false }
        throw SystemError("reserve room for", path)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(offset) + off_t(done))
            if count > 0 { done += count } else if errno != EINTR { throw SystemError("write", path) }
        }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try write(bytes, at: offset) }
        }
        try result.get()
    }

    /// Gives the file the time of its upload: a worker that makes it again, from the row of a small upload, does the same.
    func setModified(_ time: Timestamp) throws(SystemError) {
        do throws(SystemError) { try setModificationTime(of: descriptor, milliseconds: time.milliseconds) } catch {
            throw SystemError(error.code, "set the time of", path)
        }
    }

    /// - Returns: the number of bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        while true {
            let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw SystemError("read", path) }
        }
    }

    /// Whether the file has these bytes at `offset`.
    func has(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) -> Bool {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return true }
        let size = min(bytes.count, 256 << 10)
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        defer { buffer.deallocate() }
        var done = 0
        while done < bytes.count {
            let wanted = UnsafeMutableRawBufferPointer(start: buffer, count: min(size, bytes.count - done))
            let count = try read(into: wanted, at: offset + Int64(done))
            guard count > 0, memcmp(buffer, base + done, count) == 0 else { return false }
            done += count
        }
        return true
    }

    func truncate(to size: Int64) throws(SystemError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw SystemError("truncate", path) }
    }

    /// Copies bytes of another file from `position` to `offset`.
    /// - Returns: their number, at most `maxCount`; 0 at the end of the other file.
    func copy(
        _ other: SpoolFile, at position: Int64, maxCount: Int64, to offset: Int64
    ) throws(SystemError) -> Int64 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { buffer.deallocate() }
        var copied: Int64 = 0
        while copied < maxCount {
            let wanted = Int(min(Int64(buffer.count), maxCount - copied))
            let count = try other.read(into: .init(rebasing: buffer[..<wanted]), at: position + copied)
            guard count > 0 else { break }
            try write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset + copied)
            copied += Int64(count)
        }
        return copied
    }

    /// Makes the bytes durable.
    func sync() throws(SystemError) {
        guard fdatasync(descriptor) == 0 else { throw SystemError("sync", path) }
    }
}

extension SystemError {
    var isForLackOfSpace: Bool { code == ENOSPC || code == EDQUOT }
}

extension UnclaimedFiles {
    private var directory: SpoolDirectory { SpoolDirectory(path: path) }

    /// Moves the file of an upload here. A file that is here is never replaced.
    func move(_ upload: CommandID) throws(SystemError) {
        try prepare()
        try rename(spool.file(of: upload), upload)
        try spool.sync()
    }

    /// Copies the file of an upload here, unless a call before a crash has done so. The original stays.
    func copy(_ upload: CommandID) throws(SystemError) {
        try prepare()
        let original = try SpoolFile(existing: spool.file(of: upload))
        let size = try original.size
        if directory.size(of: "\(upload)") == size { return }
        let unfinished = "\(path)/unfinished"
        try directory.remove("unfinished")
        do throws(SystemError) {
            let file = try SpoolFile(unfinished)
            _ = try file.copy(original, at: 0, maxCount: size, to: 0)
            try file.sync()
            try rename(unfinished, upload)
        } catch {
            // It may be large, and the disk full.
            unlink(unfinished)
            throw error
        }
    }

    private func prepare() throws(SystemError) {
        guard mkdir(path, 0o700) != 0 else { return try spool.sync() }
        guard errno == EEXIST else { throw SystemError("create", path) }
    }

    /// Gives a file the name of its upload, or that name and a number where an earlier restore has left one.
    private func rename(_ file: String, _ upload: CommandID) throws(SystemError) {
        var (name, number) = ("\(path)/\(upload)", 1)
        while clinux_rename_exclusive(file, name) != 0 {
            guard errno == EEXIST else { throw SystemError("rename", file) }
            number += 1
            name = "\(path)/\(upload).\(number)"
        }
        try directory.sync()
    }
}
