internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue
internal import Telemetry

/// The figures of a data directory that its store, its files and its locks have.
struct StoreFigures: Sendable {
    /// Whether the store could be read. The other figures of the store are missing otherwise.
    var isReadable = false
    var hasCoordinator = false
    var counts = CommandCounts()
    /// When the oldest command that may run came to its status, by quality of service.
    var oldest: [QualityOfService: Timestamp] = [:]
    var workers: [WorkerReading] = []
    /// Bytes, by shard.
    var logs: [Int64] = []
    /// Bytes of all shards.
    var size: Int64 = 0
    var openUploads = 0

    private static let maxUploads = 1000

    init() {}

    /// Reads the figures, in a time that does not depend on the number of commands. It blocks.
    init(reading queue: QueueAccess) {
        hasCoordinator = queue.coordinator != nil
        let files = queue.fileSizes
        logs = files.map(\.wal)
        size = files.reduce(0) { $0 + $1.database }
        do {
            counts = try queue.counts()
            workers = try queue.workers()
            if counts[.new] + counts[.error] > 0 { oldest = try queue.oldestReady() }
            openUploads = try queue.openUploads(countedTo: Self.maxUploads)
            isReadable = true
        } catch {
            isReadable = false
        }
    }
}
