package import Commands
internal import Host
internal import Metrics
internal import Store
internal import Synchronization

/// Counts of an ``UploadEngine`` since its start, for metrics.
package final class UploadStatistics: Sendable {
    package struct Counts: Sendable, Equatable {
        /// Uploads that were created, by protocol.
        package var created: [UploadProtocol: Int] = [:]
        /// Uploads that have all their bytes, by protocol.
        package var completed: [UploadProtocol: Int] = [:]
        /// Uploads that ended before, terminated, expired or refused, by protocol.
        package var ended: [UploadProtocol: Int] = [:]
        /// Bytes that came, by protocol. Some of them are dropped, for instance after a wrong checksum.
        package var received: [UploadProtocol: Int64] = [:]
        /// Bytes that became durable, by protocol.
        package var durable: [UploadProtocol: Int64] = [:]
        /// Commands that uploads became, by type.
        package var commands: [String: Int] = [:]
        /// Requests that failed, by the kind of the error.
        package var errors: [UploadError.Kind: Int] = [:]

        package init() {}
    }

    private let state = Mutex(Counts())
    private let time = Timer(label: "sluice.upload")
    private let syncTime = Timer(label: "sluice.upload.sync")
    private let takeovers = Counter(label: "sluice.upload.takeovers")

    package var counts: Counts { state.withLock { $0 } }

    func created(_ upload: Upload) { state.withLock { $0.created[upload.facts.origin, default: 0] += 1 } }

    /// - Parameter submission: the command that the upload became; nil for a part of another one.
    func completed(_ upload: Upload, _ submission: UploadSubmission?, at now: Timestamp) {
        state.withLock { state in
            state.completed[upload.facts.origin, default: 0] += 1
            if let submission, upload.command == upload.id { state.commands[submission.type, default: 0] += 1 }
        }
        time.recordNanoseconds(max(now.milliseconds - upload.createdAt.milliseconds, 0) * 1_000_000)
    }

    func ended(_ upload: Upload) { state.withLock { $0.ended[upload.facts.origin, default: 0] += 1 } }

    func received(_ upload: Upload, bytes: Int64) {
        state.withLock { $0.received[upload.facts.origin, default: 0] += max(bytes, 0) }
    }

    func becameDurable(_ upload: Upload, bytes: Int64) {
        state.withLock { $0.durable[upload.facts.origin, default: 0] += max(bytes, 0) }
    }

    func failed(_ error: UploadError) { state.withLock { $0.errors[error.kind, default: 0] += 1 } }

    /// A request was stopped for another one of its upload.
    func tookOver() { takeovers.increment() }

    /// - Parameter start: when the sync began, on the thread of the disk.
    func synced(since start: MonotonicTime) { syncTime.recordNanoseconds((MonotonicTime.now - start).nanoseconds) }
}

extension UploadError {
    /// The name of a code. The raw values are labels of a metric.
    package enum Kind: String, Sendable, CaseIterable {
        case notFound, gone, offsetMismatch, tooLarge, inconsistentLength, inconsistentStatement, complete, isFinal,
            unfinishedPart,
            checksumMismatch
        case digestMismatch, interrupted, noSpace, tooMany, unavailable, keyInUse, keyConflict, uniqueKeyTaken, refused,
            invalid, failed
    }

    package var kind: Kind {
        switch code {
        case .notFound: .notFound
        case .gone: .gone
        case .offsetMismatch: .offsetMismatch
        case .tooLarge: .tooLarge
        case .inconsistentLength: .inconsistentLength
        case .inconsistentStatement: .inconsistentStatement
        case .complete: .complete
        case .isFinal: .isFinal
        case .unfinishedPart: .unfinishedPart
        case .checksumMismatch: .checksumMismatch
        case .digestMismatch: .digestMismatch
        case .interrupted: .interrupted
        case .noSpace: .noSpace
        case .tooMany: .tooMany
        case .unavailable: .unavailable
        case .keyInUse: .keyInUse
        case .keyConflict: .keyConflict
        case .uniqueKeyTaken: .uniqueKeyTaken
        case .refused: .refused
        case .invalid: .invalid
        case .failed: .failed
        }
    }
}

extension UploadSubmission {
    fileprivate var type: String {
        switch self {
        case .command(let draft): draft.type
        case .flow: CommandType.flow
        }
    }
}
