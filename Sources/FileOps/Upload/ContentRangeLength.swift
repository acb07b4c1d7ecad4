internal import Commands
internal import HTTPClient
internal import Host
internal import NIOCore
internal import NIOHTTP1
internal import Transfers

/// `Content-Range` to a target whose length (`HEAD`) is the offset.
///
/// The target is emptied first and then grows in place. So its length is the work of this upload, and a
/// longer file that was there before leaves no tail. A reader sees the first part meanwhile. After the rest
/// of a file was sent, the length is compared. A destination that took the rest for the whole file gets the
/// whole file in one request.
///
/// The offset is queried before every resume, and may have gone down. A length does not say which upload
/// wrote it: another upload may have stored its file while this one was interrupted. So the last 16 KiB
/// before the offset are read back and compared, if the destination returns them (206). Otherwise the length
/// is trusted. Two uploads to one URL at the same time are not detected.
struct ContentRangeLength: ResumptionDialect {
    /// Bytes before the offset that are compared with the source.
    private static let sample: Int64 = 16 << 10

    let messages: ContentRangeRequests

    var checkpoint: UploadCheckpoint.ResumePoint? { .contentRange(.length) }
    var takesChunks: Bool { false }
    private var requests: UploadRequests { messages.requests }

    func create() async -> ResumptionAnswer {
        let record = await messages.empty()
        if let failure = requests.failure(record, of: .PUT, messages.url) { return .failed(failure) }
        return .holds(0, record)
    }

    func locate() async -> ResumptionAnswer {
        let record = await messages.head()
        if record.status == 404 || record.status == 410 { return .vanished }
        if let failure = requests.failure(record, of: .HEAD, messages.url) { return .failed(failure) }
        guard let length = ContentRangeRequests.length(record) else {
            return .failed(
                CommandFailure(
                    .final,
                    reason: "HEAD \(messages.url.displayText) was answered without a Content-Length, so the "
                        + "offset is unknown; remove resume: contentRange of this destination from sluice.yaml, or use "
                        + "the protocol put"))
        }
        guard length <= messages.size else { return .foreign }
        do {
            return try await isOurs(upTo: length) ? .holds(length, record) : .foreign
        } catch {
            return .failed(error)
        }
    }

    func append(_ range: Range<Int64>) async -> ResumptionAnswer {
        let record = await messages.append(range)
        guard let failure = requests.failure(record, of: .PUT, messages.url) else {
            return range.lowerBound > 0 ? .unconfirmed : .holds(range.upperBound, record)
        }
        if let answer = requests.unanswered(record, failure, range, size: messages.size) { return answer }
        // Bytes of a broken connection may arrive late, so query the offset again.
        return record.status == 409 || record.status == 416 ? .refusesOffset(failure) : .failed(failure)
    }

    func confirm() async -> ResumptionAnswer {
        let record = await messages.head()
        if let failure = requests.failure(record, of: .HEAD, messages.url) { return .failed(failure) }
        guard ContentRangeRequests.length(record) == messages.size else { return .takesWholeOnly(isOurs: true) }
        return .holds(messages.size, record)
    }

    /// Whether the last bytes of the target are those of the source at this length.
    private func isOurs(upTo length: Int64) async throws -> Bool {
        let start = max(0, length - Self.sample)
        guard start < length else { return true }
        let record = await requests.send(
            .GET, messages.url, [("Range", "bytes=\(start)-\(length - 1)"), ("Accept-Encoding", "identity")],
            withholding: ContentRangeRequests.conditions.union(["content-type"]))
        switch record.status {
        case 206? where record.isComplete: return try await Array(record.body.readableBytesView) == bytes(start, length)
        case 404?, 410?, 416?: return false
        case nil, 206?, 408?, 425?, 429?: throw passing(record)
        case let code? where code >= 500 && code != 501: throw passing(record)
        default: return true
        }
    }

    private func passing(_ record: HTTPRecord) -> any Error {
        requests.failure(record, of: .GET, messages.url) ?? messages.failure(record)
    }

    /// Reads bytes of the source.
    private func bytes(_ start: Int64, _ end: Int64) async throws -> [UInt8] {
        let source = messages.source
        do {
            return try await BlockingIO.sources.run(at: source.path) {
                try [UInt8](unsafeUninitializedCapacity: Int(end - start)) { buffer, count in
                    count = try source.read(into: UnsafeMutableRawBufferPointer(buffer), at: start)
                }
            }
        } catch let error as SystemError {
            throw CommandFailure(.command, reason: "the source \(source.path) cannot be read: \(error)")
        }
    }
}
