package import Store
internal import Synchronization

/// Counts of an ``UploadEngine`` since its start, for metrics.
package final class UploadStatistics: Sendable {
    package struct Counts: Sendable, Equatable {
        /// Uploads that were created, became complete, or ended otherwise, by protocol.
        package var created: [UploadProtocol: Int] = [:]
        package var completed: [UploadProtocol: Int] = [:]
        package var ended: [UploadProtocol: Int] = [:]
        /// Bytes that became durable, by protocol.
        package var bytes: [UploadProtocol: Int64] = [:]
        /// Requests that failed, by the name of their code.
        package var errors: [String: Int] = [:]

        package init() {}
    }

    private let state = Mutex(Counts())

    package var counts: Counts { state.withLock { $0 } }

    func created(_ upload: Upload) { state.withLock { $0.created[upload.facts.origin, default: 0] += 1 } }
    func completed(_ upload: Upload) { state.withLock { $0.completed[upload.facts.origin, default: 0] += 1 } }
    func ended(_ upload: Upload) { state.withLock { $0.ended[upload.facts.origin, default: 0] += 1 } }

    func received(_ upload: Upload, bytes: Int64) {
        state.withLock { $0.bytes[upload.facts.origin, default: 0] += max(bytes, 0) }
    }

    func failed(_ error: UploadError) { state.withLock { $0.errors[error.code.name, default: 0] += 1 } }
}

extension UploadError.Code {
    /// A word, for metrics.
    package var name: String {
        switch self {
        case .notFound: "notFound"
        case .gone: "gone"
        case .offsetMismatch: "offsetMismatch"
        case .tooLarge: "tooLarge"
        case .inconsistentLength: "inconsistentLength"
        case .complete: "complete"
        case .isFinal: "isFinal"
        case .unfinishedPart: "unfinishedPart"
        case .checksumMismatch: "checksumMismatch"
        case .digestMismatch: "digestMismatch"
        case .interrupted: "interrupted"
        case .noSpace: "noSpace"
        case .unavailable: "unavailable"
        case .keyInUse: "keyInUse"
        case .keyConflict: "keyConflict"
        case .invalid: "invalid"
        case .failed: "failed"
        }
    }
}
