internal import Store

/// Commits the writes of a worker's executions to one shard. Claims are given up where their commit fails; all other writes
/// are retried until they are committed.
typealias ExecutionCommitter = GroupCommitter<ExecutionWrite, CommitOutcome>

extension ExecutionCommitter {
    /// - Parameter limiter: shared by the committers of a worker.
    convenience init(shard: Int, limiter: CommitLimiter) {
        self.init(named: "commit-\(shard)", policy: .untilCommitted, limiter: limiter, isOptional: { $0.isClaim })
    }
}

extension ExecutionWrite {
    fileprivate var isClaim: Bool { if case .claim = self { true } else { false } }
}
