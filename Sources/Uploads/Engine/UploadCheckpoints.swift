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
    }

    private let engine: UploadEngine
    private let file: SpoolFile
    private let upload: Upload
    private let length: Int64?
    private let state: Mutex<State>

    /// A checkpoint begins after this many bytes, or this time.
    private static let bytes: Int64 = 16 << 20
    private static let interval: Duration = .seconds(1)

    /// - Parameter length: of the upload, where the request states it.
    init(_ engine: UploadEngine, _ file: SpoolFile, upload: Upload, length: Int64?) {
        self.engine = engine
        self.file = file
        self.upload = upload
        self.length = length
        state = Mutex(State(durable: upload.offset, startedAt: .now))
    }

    /// Bytes that are durable, and in the row.
    var durable: Int64 { state.withLock { $0.durable } }

    /// Every byte before `end` is in the file.
    func written(_ end: Int64) {
        let now = MonotonicTime.now
        state.withLock { state in
            guard state.task == nil,
                end - state.durable >= Self.bytes || now - state.startedAt >= Self.interval && end > state.durable
            else { return }
            state.startedAt = now
            state.task = Task {
                await checkpoint(end)
                self.state.withLock { $0.task = nil }
            }
        }
    }

    /// Waits for the checkpoint that runs.
    func finish() async { await state.withLock { $0.task }?.value }

    private func checkpoint(_ end: Int64) async {
        // The end of the request says what goes wrong: it makes the same calls.
        do throws(UploadError) {
            try await engine.makeDurable(file, isFirst: durable == 0)
            let due = engine.clock() + engine.limits.maxAge
            let change = try await engine.commit(.advance(upload.id, offset: end, length: length, due: due))
            guard change.isApplied else { return }
            state.withLock { $0.durable = end }
        } catch {
            engine.logger.debug("A checkpoint of upload \(upload.id) failed: \(error)")
        }
    }
}
