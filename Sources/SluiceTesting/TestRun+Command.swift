internal import Commands
internal import Store

extension TestRun {
    init(of command: Command, _ record: ExecutionRecorder.Record, in queue: QueueAccess) throws(StoreError) {
        let payload: [UInt8] =
            if let payload = record.payload { payload } else { try queue.payload(command.id) ?? [] }
        self.init(
            command: command, outcome: Outcome(of: command, result: try queue.result(command.id)),
            payload: JSONValue(stored: payload) ?? .null, checkpoints: record.checkpoints, progress: record.progress,
            wasInterrupted: record.wasInterrupted)
    }
}

extension TestRun.Outcome {
    fileprivate init(of command: Command, result: [UInt8]?) {
        switch command.status {
        case .success: self = .success(result.flatMap { JSONValue(stored: $0) })
        case .error: self = .retry(at: command.notBefore)
        case .tooManyTimes: self = .failed
        case .cancelled: self = .cancelled
        case .inDoubt: self = .inDoubt
        case .new, .blocked, .queued, .sent: self = .released
        }
    }
}

extension JSONValue {
    /// Nil for bytes that are not JSON.
    init?(stored bytes: [UInt8]) {
        guard let value = try? JSONValue(parsing: bytes) else { return nil }
        self = value
    }
}
