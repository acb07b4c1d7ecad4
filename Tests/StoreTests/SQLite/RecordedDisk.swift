import Foundation
import Host
import Store
import TestSupport

/// The files of a store as they may look after a power cut. Synced writes are there. Each later write of 512 bytes may be
/// there or not, in any combination, because the cache of a disk has no order.
struct RecordedDisk {
    /// A file as the disk and its cache have it.
    private struct File {
        var durable: [UInt8] = []
        /// Writes and truncations since the last sync.
        var pending: [RecordingVFS.Record] = []

        mutating func apply(_ record: RecordingVFS.Record, in random: inout SeededRandom, isCertain: Bool) {
            switch record {
            case .write(_, let offset, let bytes):
                if durable.count < offset + bytes.count, isCertain || random.chance(0.5) {
                    durable += [UInt8](repeating: 0, count: offset + bytes.count - durable.count)
                }
                for start in stride(from: 0, to: bytes.count, by: 512) where isCertain || random.chance(0.5) {
                    for index in start..<min(start + 512, bytes.count) where offset + index < durable.count {
                        durable[offset + index] = bytes[index]
                    }
                }
            case .truncate(_, let size):
                if isCertain || random.chance(0.5), durable.count > size { durable.removeLast(durable.count - size) }
            case .sync, .mark: break
            }
        }

        mutating func settle(in random: inout SeededRandom, isCertain: Bool) {
            for record in pending { apply(record, in: &random, isCertain: isCertain) }
            pending = []
        }
    }

    private let data: DataDirectory
    private var files: [String: File]
    /// The last mark that was set.
    private(set) var mark = 0

    /// - Precondition: no process has the files open.
    init(_ data: DataDirectory) throws {
        self.data = data
        files = Dictionary(
            uniqueKeysWithValues: try data.shards().flatMap { shard in
                ["", "-wal"].map {
                    (data.shard(shard) + $0, File(durable: contents(of: data.shard(shard) + $0) ?? []))
                }
            })
    }

    /// Replays what was recorded until the power was cut.
    mutating func replay(_ records: ArraySlice<RecordingVFS.Record>, in random: inout SeededRandom) {
        for record in records {
            switch record {
            case .write(let file, _, _), .truncate(let file, _): files[file, default: File()].pending.append(record)
            case .sync(let file): files[file, default: File()].settle(in: &random, isCertain: true)
            case .mark(let number): mark = number
            }
        }
        for file in files.keys { files[file]?.settle(in: &random, isCertain: false) }
    }

    /// Writes the files into a new data directory.
    func write(to path: String) throws -> DataDirectory {
        let after = DataDirectory(path: path)
        try after.prepare()
        for (path, file) in files where path.hasSuffix(".sqlite") || !file.durable.isEmpty {
            let copy = after.path + path.dropFirst(data.path.count)
            try Data(file.durable).write(to: URL(fileURLWithPath: copy))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
        }
        return after
    }
}
