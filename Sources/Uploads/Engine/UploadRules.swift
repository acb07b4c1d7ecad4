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

/// Asks the site whether an upload may be created.
package protocol UploadAdmission: Sendable {
    /// - Parameters:
    ///   - facts: as the client has stated them.
    ///   - length: bytes in all; nil while the client does not know them.
    /// - Throws: `refused` with the site's words; `unavailable` where it does not answer, or not so that it can be used.
    func decision(on facts: UploadFacts, length: Int64?) async throws(UploadError) -> UploadDecision
}

/// The changes of the site to an upload that it admits; nil: it stays as the client has stated it.
package struct UploadDecision: Sendable, Equatable {
    package var fileName: String?
    /// In place of all values of the client.
    package var metadata: [String: String]?
    /// Of the command or flow that the upload becomes, in place of the route's.
    package var uniqueKey: String?

    package init() {}

    /// The facts of the upload with what the site has set.
    package func applied(to facts: UploadFacts) -> UploadFacts {
        var facts = facts
        if let fileName { facts.fileName = fileName }
        facts.siteMetadata = metadata
        facts.uniqueKey = uniqueKey
        return facts
    }
}

extension UploadEngine {
    /// Lets the site decide about a new upload. Each creation passes here, once, whatever its protocol: a request that
    /// repeats one under its idempotency key creates nothing, and the site is not asked again.
    /// - Parameter facts: as the client has stated them.
    /// - Returns: the facts of the upload, and the last byte of its id (``UploadRules/shardByte(for:length:)``).
    /// - Throws: `refused`, `unavailable`. Where the route does not take the upload, or it would find no room, the site is
    ///   not asked.
    func decide(_ facts: UploadFacts, length: Int64?) async throws(UploadError) -> (facts: UploadFacts, byte: UInt8?) {
        let byte = try rules.shardByte(for: facts, length: length)
        guard let admission else { return (facts, byte) }
        try await checkRoom(for: facts, length: length)
        let decision: UploadDecision
        do throws(UploadError) { decision = try await admission.decision(on: facts, length: length) } catch {
            if let cause = error.cause { warn(cause) }
            throw error
        }
        let decided = decision.applied(to: facts)
        do throws(UploadError) { return (decided, try rules.shardByte(for: decided, length: length)) } catch {
            // The client has stated nothing wrong, and cannot mend it.
            warn("The upload hook has set what the route does not take: \(error.cause ?? error.message)")
            throw .noDecision
        }
    }
}

extension UploadError {
    /// The site has not decided: the client tries again later. The log has the cause.
    package static let noDecision = UploadError(
        .unavailable, "The server cannot ask whether it may take this upload; try again later.")
}
