// A worker with an operation of its own. It joins the processes that run on a data directory:
//
//     sluice up &
//     example-worker ./sluice-data &
//     sluice submit checksum --payload '{"file": "/etc/hostname"}' --wait
//     sluice status <the UUID>        # the result holds the checksum
//
// Stop it with Ctrl-C: it drains. Kill it: its commands are offered to the next worker that executes their type.

import Glibc
import Sluice

/// Computes the FNV-1a hash of a file: `{"file": "/path"}` leaves `{"checksum": "cbf29ce484222325", "bytes":
/// 0}`.
struct ChecksumOperation: CommandOperation {
    let type = "checksum"
    /// The worker stores this for producers that do not have the operation, such as `sluice submit`: a second
    /// execution does no harm.
    let rule = PayloadRule(isIdempotent: true)

    /// Called at submit by programs that know this operation. Others submit without it, so ``execute(_:)``
    /// reads the payload again.
    func inspect(_ payload: JSONValue) throws(PayloadError) -> PayloadAttributes {
        guard let members = payload.members, members.count == 1, payload["file"]?.string != nil else {
            throw PayloadError(.data, "the payload of a checksum is {\"file\": PATH} and nothing else")
        }
        return try rule.attributes(of: payload)
    }

    func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        guard let payload = try? JSONValue(parsing: execution.payload), let path = payload["file"]?.string else {
            // A retry cannot succeed, so the command becomes a dead letter, with this sentence as its reason.
            throw CommandFailure(.final, reason: "the payload of a checksum is {\"file\": PATH}")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            // Charged, and tried again after a backoff: the file may exist by then.
            throw CommandFailure(.command, reason: "cannot open “\(path)”: \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var bytes: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            // Cancelled by a person, a deadline or a drain: stop at once.
            try Task.checkCancellation()
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 {
                throw CommandFailure(.command, reason: "cannot read “\(path)”: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            for byte in buffer[..<count] { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            bytes += Int64(count)
            // Shown as progress by `sluice watch`.
            execution.progress(offset: bytes, total: 0)
        }
        return JSONValue.object([
            .init("checksum", .string(String(hash, radix: 16))), .init("bytes", .integer(bytes)),
        ]).bytes
    }
}

do {
    let path = CommandLine.arguments.dropFirst().first ?? "./sluice-data"
    // The URL of a store on a server; nil: the store is in the data directory.
    let store = getenv("SLUICE_STORE").map { String(cString: $0) }
    let worker = try SluiceWorker(data: path, store: store, operations: [ChecksumOperation()], concurrency: 4)
    try await worker.runUntilSignal()
} catch {
    let line = "example-worker: \(error)\n"
    _ = write(STDERR_FILENO, line, line.utf8.count)
    exit(1)
}
