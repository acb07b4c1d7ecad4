internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Queue
internal import Store
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

    /// Pairs of destination and quality of service that are looked at in each shard. An installation with more has
    /// many commands waiting anyway.
    private static let maxKeys = 1000
    private static let maxUploads = 1000

    init() {}

    /// Reads the figures, in a time that does not depend on the number of commands. It blocks.
    init(reading client: SluiceClient) {
        let instance = Instance(directory: client.directory, store: client.store)
        hasCoordinator = instance.coordinator.isHeld
        for shard in 0..<client.store.shardCount {
            let path = client.directory.shard(shard)
            logs.append(Self.size(of: "\(path)-wal"))
            size += Self.size(of: path)
        }
        do throws(StoreError) {
            counts = try client.store.counts()
            workers = try instance.workers()
            if counts[.new] + counts[.error] > 0 { oldest = try Self.oldest(client.store) }
            for shard in 0..<client.store.shardCount {
                openUploads += try client.store.uploads(
                    shard: shard, state: .open, order: .oldestFirst, after: nil, limit: Self.maxUploads
                ).count
            }
            isReadable = true
        } catch {
            isReadable = false
        }
    }

    private static func oldest(_ store: any CommandStore) throws(StoreError) -> [QualityOfService: Timestamp] {
        var oldest: [QualityOfService: Timestamp] = [:]
        for shard in 0..<store.shardCount {
            for key in try store.readyKeys(shard: shard).prefix(maxKeys) {
                // The first in the order of submission stands for its queue.
                guard let first = try store.ready(shard: shard, key: key, afterTurn: 0, limit: 1).first,
                    let command = try store.command(first.id)
                else { continue }
                oldest[key.qos] = min(oldest[key.qos] ?? command.updatedAt, command.updatedAt)
            }
        }
        return oldest
    }

    private static func size(of path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }
}
