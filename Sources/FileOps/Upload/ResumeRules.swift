package import Commands
internal import Host
package import Settings
internal import Synchronization
internal import Transfers

/// How uploads can be resumed, by destination, where a query does not show it. A server that does not support
/// `Content-Range` takes the rest of a file for the whole file (RFC 9110, section 14.5), and a gateway may
/// answer `OPTIONS` instead of a tus server.
package struct ResumeRules: Sendable, Equatable {
    package enum Resume: String, Sendable {
        case contentRange
        case tus
    }

    private var resume: [Destination: Resume] = [:]
    private var chunkSizes: [Destination: Int64] = [:]

    package init() {}

    /// - Parameters:
    ///   - tus: destinations whose uploads use tus without a query.
    ///   - chunkSizes: the maximum bytes of a tus request.
    package init(
        contentRange: Set<Destination>, tus: Set<Destination> = [], chunkSizes: [Destination: Int64] = [:]
    ) {
        for destination in contentRange { resume[destination] = .contentRange }
        for destination in tus { resume[destination] = .tus }
        self.chunkSizes = chunkSizes
    }

    func resume(at destination: Destination) -> Resume? { resume[destination] }

    /// - Returns: the maximum bytes of a tus request; nil: unlimited.
    func chunkSize(at destination: Destination) -> Int64? { chunkSizes[destination] }

    /// Reads the list `destinations` and, for each name in it, the section `destination.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `origin` | – | scheme, host and port, as in `https://media.example.com`; must match exactly |
    /// | `resume` | none | for uploads of 1 MiB and more without a protocol. `contentRange`: PUT with `Content-Range`; `tus`: tus, without a query by `OPTIONS` |
    /// | `chunkSize` | none | maximum bytes of a tus request, as in `8MiB`; at least 64 KiB. After a 413 chunks are halved in any case |
    ///
    /// Other parts of Sluice read the other keys of the section.
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        for name in try reader.list(["destinations"]) {
            let path = ["destination", name]
            let resume = try reader.value(path + ["resume"], takes: "contentRange or tus, or is left out") {
                Resume(rawValue: $0)
            }
            let chunkSize = try reader.value(
                path + ["chunkSize"], takes: "a size of 64 KiB or more such as 8MiB or 1000000"
            ) { text in ByteCount.bytes(text).flatMap { $0 >= ChunkSizes.minChunk ? $0 : nil } }
            guard resume != nil || chunkSize != nil else { continue }
            guard let origin = try reader.origin(path) else {
                throw SettingsError(key: "destination.\(name).origin", problem: "is missing")
            }
            if let resume { self.resume[origin] = resume }
            if let chunkSize { chunkSizes[origin] = chunkSize }
        }
    }
}

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
