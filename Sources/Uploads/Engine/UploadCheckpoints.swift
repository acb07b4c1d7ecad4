internal import Commands
internal import Host
internal import Logging
internal import Store
internal import Synchronization

/// Moves the durable offset of an upload on while one long request runs, so that a crash costs a few seconds of it.
final class UploadCheckpoints: Sendable {
    private struct State {
        var durable: Int64
        var startedAt: MonotonicTime
        var task: Task<Void, Never>?
        /// Why a sync has failed. A later sync of the same file may succeed without the bytes of this one.
        var failure: UploadError?
    }

    private let engine: UploadEngine
    private let file: SpoolFile
    private let upload: Upload
    private let length: Int64?
    private let progress: @Sendable (Int64) -> Void
    private let state: Mutex<State>

    /// A checkpoint begins after this many bytes, or this time.
    private static let bytes: Int64 = 16 << 20
    private static let interval: Duration = .seconds(1)

    /// - Parameters:
    ///   - length: of the upload, where the request states it.
    ///   - progress: called with each durable offset.
    init(
        _ engine: UploadEngine, _ file: SpoolFile, upload: Upload, length: Int64?,
        progress: @escaping @Sendable (Int64) -> Void
    ) {
        self.engine = engine
        self.file = file
        self.upload = upload
        self.length = length
        self.progress = progress
        state = Mutex(State(durable: upload.offset, startedAt: .now))
    }

    /// Bytes that are durable, and in the row.
    var durable: Int64 { state.withLock { $0.durable } }

    /// Every byte before `end` is in the file.
    func written(_ end: Int64) {
        let now = MonotonicTime.now
        state.withLock { state in
            guard state.task == nil, state.failure == nil,
                end - state.durable >= Self.bytes || now - state.startedAt >= Self.interval && end > state.durable
            else { return }
            state.startedAt = now
            state.task = Task {
                await checkpoint(end)
                self.state.withLock { $0.task = nil }
            }
        }
    }

    /// Waits for the checkpoint that runs. Call it when no more bytes are written.
    /// - Throws: the error of a sync: the bytes after ``durable`` must be sent again, because the kernel reports a failed
    ///   write once and forgets it.
    func finish() async throws(UploadError) {
        await state.withLock { $0.task }?.value
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    private func checkpoint(_ end: Int64) async {
        do throws(UploadError) {
            try await engine.makeDurable(file, isFirst: durable == 0)
        } catch {
            return state.withLock { $0.failure = error }
        }
        let due = engine.limits.expiry(of: upload, at: end, now: engine.store.clock.now())
        do throws(UploadError) {
            let change = try await engine.commit(.advance(upload.id, offset: end, length: length, due: due))
            guard change.isApplied else { return }
            engine.statistics.becameDurable(upload, bytes: end - durable)
            state.withLock { $0.durable = end }
            progress(end)
        } catch {
            // The commit at the end of the request says what goes wrong.
            engine.logger.debug("A checkpoint of upload \(upload.id) failed: \(error)")
        }
    }
}
