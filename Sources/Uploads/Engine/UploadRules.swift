package import Commands
package import Store

/// The decisions that depend on the configured routes.
package protocol UploadRules: Sendable {
    /// The last byte of the id of a new upload; nil where it is free.
    /// - Throws: `invalid` for a route that does not exist, or facts that it does not take.
    func shardByte(for facts: UploadFacts, length: Int64?) throws(UploadError) -> UInt8?
    /// The unique key of the command that an upload will become; nil without one.
    func uniqueKey(for facts: UploadFacts) throws(UploadError) -> UniqueKey?
    /// The bytes of one upload that its route takes; nil: as many as the door takes.
    func maxSize(for facts: UploadFacts) -> Int64?
    /// Whether ``submission(for:file:sha256:)`` needs the SHA-256 of the bytes.
    func needsDigest(_ facts: UploadFacts) -> Bool
    /// The command that a complete upload becomes; nil where it stays in the spool. May read the file: blocks. An upload
    /// that the configuration does not take any more keeps its bytes until it expires.
    /// - Parameters:
    ///   - upload: with its final length.
    ///   - file: the path of its bytes.
    ///   - sha256: of the bytes, where it is needed.
    func submission(for upload: Upload, file: String, sha256: [UInt8]?) throws(UploadError) -> UploadSubmission?
    /// How long the bytes stay after the success of the command.
    func retention(for facts: UploadFacts) -> Duration
}

/// No routes: every upload stays in the spool.
package struct NoRoutes: UploadRules {
    package init() {}

    package func shardByte(for facts: UploadFacts, length: Int64?) throws(UploadError) -> UInt8? {
        guard let route = facts.route else { return nil }
        throw UploadError(.invalid, "There is no route “\(route)”; add it to “routes” in sluice.yaml.")
    }
    package func uniqueKey(for facts: UploadFacts) throws(UploadError) -> UniqueKey? { nil }
    package func maxSize(for facts: UploadFacts) -> Int64? { nil }
    package func needsDigest(_ facts: UploadFacts) -> Bool { false }
    package func submission(
        for upload: Upload, file: String, sha256: [UInt8]?
    ) throws(UploadError) -> UploadSubmission? { nil }
    package func retention(for facts: UploadFacts) -> Duration { .zero }
}
