internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Store

/// The waits of a command that runs: for an answer, a file system, or room on a disk.
extension WaitExplainer {
    /// Below this the store cannot count on its next commit.
    private static let minFree: Int64 = 1 << 20
    /// A file system that does not answer for this time counts as hung.
    private static let fileTimeout: Duration = .seconds(1)

    /// - Parameter worker: in words.
    /// - Returns: nil where it waits for nothing that this process can see.
    func runningWait(_ command: Command, _ worker: String) throws(StoreError) -> WaitReason? {
        if let waited = progress?.awaitsResponseFor {
            let bytes = progress.flatMap { $0.total > 0 ? "all \($0.total) bytes" : nil } ?? "the whole request"
            return WaitReason(
                "answer",
                "\(worker) has sent \(bytes), and \(command.destination) has received them; its answer has been missing "
                    + "for \(waited.shortText)",
                threshold: "the answer",
                remedy: "It ends with the answer, or after upload.responseTimeout of sluice.yaml without one")
        }
        for path in try files(of: command) where !Self.answers(path) {
            return WaitReason(
                "fileSystem", "\(worker) executes it, and the file system of “\(path)” does not answer",
                threshold: "an answer within \(Self.fileTimeout.shortText)",
                remedy: "It goes on when the file system answers; look at its server or device")
        }
        return nil
    }

    /// The file system of the store has no room, so that no worker can store that a command begins or ends.
    func fullDisk() -> WaitReason? {
        var facts = statvfs()
        guard statvfs(queue.directory.path, &facts) == 0 else { return nil }
        let free = Int64(clamping: UInt64(facts.f_bavail) * UInt64(facts.f_frsize))
        guard free < Self.minFree else { return nil }
        return WaitReason(
            "disk",
            "the file system of the data directory \(queue.directory.path) has \(free) bytes left, so that no progress can "
                + "be stored", threshold: "\(Self.minFree) bytes",
            remedy: "Make room there; everything goes on by itself then")
    }

    /// The local files that the command reads or writes.
    private func files(of command: Command) throws(StoreError) -> [String] {
        guard let payload = try store.payload(command.id).flatMap({ try? JSONValue(parsing: $0) }) else { return [] }
        let target = command.destination.text
        let prefix = "file://localhost/"
        return ["file", "bodyFile", "stdinFile"].compactMap { payload[$0]?.string }
            + (target.hasPrefix(prefix) ? ["/" + target.dropFirst(prefix.count)] : [])
    }

    /// Whether a look at a file returns in time. A thread that hangs in the kernel ends with this process.
    private static func answers(_ path: String) -> Bool {
        let isDone = MonotonicSemaphore(value: 0)
        startThread(named: "sluice-look") {
            var facts = stat()
            _ = stat(path, &facts)
            isDone.signal()
        }
        return isDone.wait(timeout: fileTimeout)
    }
}
