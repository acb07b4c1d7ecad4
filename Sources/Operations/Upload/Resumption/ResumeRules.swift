package import Commands
package import Settings

/// How uploads can be resumed, by destination: what cannot be found out by asking. A server that does not know
/// `Content-Range` takes the rest of a file for all of it (RFC 9110, section 14.5), and a gateway may answer `OPTIONS`
/// in place of a tus server.
package struct ResumeRules: Sendable, Equatable {
    package enum Resume: String, Sendable {
        case contentRange
        case tus
    }

    private var resume: [Destination: Resume] = [:]
    private var chunkSizes: [Destination: Int64] = [:]

    package init() {}

    /// - Parameters:
    ///   - tus: destinations whose uploads go by tus without a question.
    ///   - chunkSizes: bytes of a tus request at most.
    package init(
        contentRange: Set<Destination>, tus: Set<Destination> = [], chunkSizes: [Destination: Int64] = [:]
    ) {
        for destination in contentRange { resume[destination] = .contentRange }
        for destination in tus { resume[destination] = .tus }
        self.chunkSizes = chunkSizes
    }

    func resume(at destination: Destination) -> Resume? { resume[destination] }

    /// - Returns: bytes of a tus request at most; nil: any number.
    func chunkSize(at destination: Destination) -> Int64? { chunkSizes[destination] }

    /// Reads the list `destinations` and, for each name in it, the section `destination.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `origin` | – | scheme, host and port, as in `https://media.example.com`; must match exactly |
    /// | `resume` | none | of uploads of 1 MiB and more that name no protocol. `contentRange`: by PUT with `Content-Range`; `tus`: by tus, without asking by `OPTIONS` |
    /// | `chunkSize` | none | bytes of a tus request at most, as in `8MiB`; at least 64 KiB. After a 413 chunks are halved in any case |
    ///
    /// Other keys of the section belong to other readers.
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
