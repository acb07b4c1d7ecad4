internal import CLinux
internal import Commands
internal import Synchronization

/// Request sizes that destinations have shown to take, after they answered 413: shared by the uploads of a process.
final class ChunkSizes: Sendable {
    /// Bytes below which a chunk is not halved. A server that refuses so little refuses the upload.
    static let minChunk: Int64 = 64 << 10
    /// Bytes of the first chunk after a larger request was refused: limits of proxies are 1 MiB (nginx) to 100 MB.
    static let maxChunkAfterRefusal: Int64 = 64 << 20
    /// How long a size is remembered, in nanoseconds.
    private static let memory: Int64 = 3_600_000_000_000
    private static let maxDestinations = 1024

    private let sizes = Mutex<[Destination: (bytes: Int64, until: Int64)]>([:])

    /// - Returns: half of what was refused, in bytes; nil where that is too little to go on with.
    static func smaller(than refused: Int64) -> Int64? {
        refused > minChunk ? max(minChunk, min(refused / 2, maxChunkAfterRefusal)) : nil
    }

    /// - Parameter configured: bytes that sluice.yaml allows in a request; nil: any number.
    /// - Returns: bytes of a request to the destination; nil: any number.
    func chunk(for destination: Destination, configured: Int64?) -> Int64? {
        let now = Int64(clinux_monotonic())
        let learned = sizes.withLock { $0[destination].flatMap { now < $0.until ? $0.bytes : nil } }
        guard let learned else { return configured }
        return min(learned, configured ?? learned)
    }

    func learn(_ bytes: Int64, for destination: Destination) {
        let until = Int64(clinux_monotonic()) + Self.memory
        sizes.withLock { sizes in
            if sizes.count >= Self.maxDestinations { sizes.removeAll(keepingCapacity: true) }
            sizes[destination] = (bytes, until)
        }
    }
}
