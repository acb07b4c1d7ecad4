internal import Commands
internal import Host
internal import Synchronization

/// Request sizes of destinations that have answered 413. All uploads of a process share them.
final class ChunkSizes: Sendable {
    /// Chunks of this size are not halved. A server that refuses them refuses the upload.
    static let minChunk: Int64 = 64 << 10
    /// The maximum of the first chunk after a larger request was refused. Limits of proxies are 1 MiB (nginx)
    /// to 100 MB.
    static let maxChunkAfterRefusal: Int64 = 64 << 20
    /// How long a size is remembered.
    private static let lifetime: Duration = .seconds(3600)
    private static let maxDestinations = 1024

    private let sizes = Mutex<[Destination: (bytes: Int64, until: MonotonicTime)]>([:])

    /// - Returns: half of the refused bytes; nil where that is too small.
    static func smaller(than refused: Int64) -> Int64? {
        refused > minChunk ? max(minChunk, min(refused / 2, maxChunkAfterRefusal)) : nil
    }

    /// - Parameter configured: the maximum bytes of a request by sluice.yaml; nil: unlimited.
    /// - Returns: the maximum bytes of a request to the destination; nil: unlimited.
    func chunk(for destination: Destination, configured: Int64?) -> Int64? {
        let now = MonotonicTime.now
        let learned = sizes.withLock { $0[destination].flatMap { now < $0.until ? $0.bytes : nil } }
        guard let learned else { return configured }
        return min(learned, configured ?? learned)
    }

    func learn(_ bytes: Int64, for destination: Destination) {
        let until = MonotonicTime.now + Self.lifetime
        sizes.withLock { sizes in
            if sizes.count >= Self.maxDestinations { sizes.removeAll(keepingCapacity: true) }
            sizes[destination] = (bytes, until)
        }
    }
}
