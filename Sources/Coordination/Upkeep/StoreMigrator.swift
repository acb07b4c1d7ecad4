internal import Host
internal import Logging
internal import Store
internal import Wire

/// Brings the shards to this program's version, once no worker of an earlier release has a session. Confined to the loop.
///
/// Only the coordinator migrates, because it knows which releases the workers have. Until then every program uses the
/// shards as they are. A migration may take minutes, so another thread runs it, and the heartbeat goes on.
final class StoreMigrator {
    private let environment: CoordinatorEnvironment
    private let dispatch: DispatchRunner
    private var isRunning = false
    /// Shards that may have an earlier version.
    private var remaining: [Int]
    /// The last line that was logged: once is enough.
    private var logged = ""

    init(_ environment: CoordinatorEnvironment, dispatch: DispatchRunner) {
        self.environment = environment
        self.dispatch = dispatch
        remaining = Array(0..<(environment.files?.shardCount ?? 0))
    }

    /// Migrates what can be migrated now; call it in each sweep.
    func run() {
        guard !isRunning, !remaining.isEmpty, let files = environment.files else { return }
        isRunning = true
        let epochs = Set(
            dispatch.dispatcher.seats.values
                .filter { $0.program.map { $0.store >= StoreVersion.newest } ?? false }.map(\.epoch))
        let log = environment.callbacks.repeatedly { [unowned self] (line: LogLine) in write(line) }
        let finish = environment.callbacks.once { [unowned self] (left: [Int]) in
            isRunning = false
            remaining = left
            log.end()
        }
        BlockingPool.shared.perform { [remaining, call = log.call] in
            var left: [Int] = []
            for shard in remaining {
                let (line, isDone) = Self.migrate(shard, in: files, epochs: epochs)
                if !isDone { left.append(shard) }
                if let line { call(line) }
            }
            finish(left)
        }
    }

    private struct LogLine: Sendable {
        var level: Logger.Level
        var text: String
        var shard: Int?
    }

    /// On the thread.
    private static func migrate(
        _ shard: Int, in files: any StoreMaintenance, epochs: Set<Int64>
    ) -> (LogLine?, isDone: Bool) {
        do throws(StoreError) {
            switch try files.migrate(shard: shard, epochs: epochs) {
            case .notNeeded: return (nil, true)
            case .migrated(let version):
                let text = "A shard was migrated from version \(version) to \(StoreVersion.newest)."
                return (LogLine(level: .notice, text: text, shard: shard), true)
            case .prevented(let version, let sessions):
                // Workers register within a second of their start.
                let workers = sessions.map { "process \($0.pid) in seat \($0.seat)" }.sorted().joined(separator: ", ")
                let text =
                    "The store stays at version \(version) until every worker has this release. Of an earlier one, or not "
                    + "registered yet: \(workers)."
                return (LogLine(level: .info, text: text), false)
            }
        } catch {
            // Each reader of an unusable shard reports it.
            guard !error.code.makesShardUnusable else { return (nil, false) }
            let text = "A shard was not migrated: \(error.message)"
            return (LogLine(level: .warning, text: text, shard: shard), false)
        }
    }

    private func write(_ line: LogLine) {
        guard line.text != logged || line.level == .notice else { return }
        logged = line.text
        environment.logger.log(
            level: line.level, "\(line.text)", metadata: line.shard.map { ["shard": "\($0)"] })
    }
}
