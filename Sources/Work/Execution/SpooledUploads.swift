internal import CLinux
internal import Commands
internal import Glibc
internal import Host
internal import Store

/// Makes the files of small uploads, whose bytes are in the store, where a crash of the machine has lost them.
struct SpooledUploads: Sendable {
    let store: any CommandStore
    private let directory: String
    /// The directory of uploads, as payloads name it.
    private let prefix: [UInt8]

    /// - Parameter directory: the absolute path of ``DataDirectory/uploads``.
    init(_ store: any CommandStore, directory: String) {
        self.store = store
        self.directory = directory
        prefix = Array("\(directory)/".utf8)
    }

    /// Makes the file that a payload names, where it is missing. Blocks.
    /// - Throws: ``CommandFailure`` where the file is needed and cannot be made. Where the spool is not mounted, the command
    ///   waits for it, uncharged: a missing source would be a final failure.
    func restore(_ payload: [UInt8]) throws(CommandFailure) {
        guard let (path, id) = file(in: payload), !Self.isOfThisBoot(path) else { return }
        var isMounted = true
        do throws(StoreError) {
            guard let upload = try store.upload(id) else { return }
            if upload.storage == .file, access(path, F_OK) != 0 { isMounted = try hasMark() }
            if upload.storage == .row, let body = try store.uploadBody(id) {
                do throws(SystemError) { try Self.write(body, of: upload, to: path) } catch { throw StoreError(error) }
            }
        } catch {
            throw CommandFailure(
                .command, reason: "the upload \(id) cannot be read: \(error.message)", delivery: .refused)
        }
        guard isMounted else {
            throw .heldBack(
                reason:
                    "the spool \(directory) is not mounted: it has neither the file of the upload nor the mark of this store",
                for: .seconds(60))
        }
    }

    private func hasMark() throws(StoreError) -> Bool {
        guard let id = try store.storeID() else { return true }
        return access("\(directory)/\(DataDirectory.uploadsMark(of: id))", F_OK) == 0
    }

    /// The first file of the spool that a payload names.
    private func file(in payload: [UInt8]) -> (path: String, id: CommandID)? {
        let idLength = 36
        guard payload.count > prefix.count + idLength, let first = prefix.first else { return nil }
        var position = 0
        while let start = payload[position...].firstIndex(of: first) {
            let end = start + prefix.count
            guard end + idLength <= payload.count else { return nil }
            if payload[start..<end].elementsEqual(prefix) {
                let text = String(decoding: payload[end..<end + idLength], as: UTF8.self)
                if let id = CommandID(text) {
                    return (String(decoding: payload[start..<end + idLength], as: UTF8.self), id)
                }
            }
            position = start + 1
        }
        return nil
    }

    /// Whether the file is there as it was written: the page cache has what this boot has written. The time of the last
    /// change counts, because the modification time is that of the upload.
    private static func isOfThisBoot(_ path: String) -> Bool {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return false }
        let (now, uptime) = (Timestamp.now.milliseconds / 1000, BootTime.now.nanoseconds / 1_000_000_000)
        return facts.st_ctim.tv_sec > now - uptime
    }

    /// Another worker may write the same bytes at the same time.
    private static func write(_ bytes: [UInt8], of upload: Upload, to path: String) throws(SystemError) {
        let temporary = "\(path).\(getpid())"
        let descriptor = clinux_open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemError("create", temporary) }
        defer { close(descriptor) }
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done)
            }
            if count > 0 { done += count } else if errno != EINTR { throw SystemError("write", temporary) }
        }
        do throws(SystemError) {
            try setModificationTime(of: descriptor, milliseconds: upload.createdAt.milliseconds)
        } catch { throw SystemError(error.code, "set the time of", temporary) }
        guard rename(temporary, path) == 0 else { throw SystemError("rename", temporary) }
    }
}
