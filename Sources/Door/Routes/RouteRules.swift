package import Commands
package import Operations
package import Store
package import Uploads

/// The routes of the configuration, as the upload engine asks for them.
package struct RouteRules: UploadRules {
    private let routes: UploadRoutes
    private let registry: @Sendable (String) throws -> OperationRegistry

    /// - Parameter registry: the operations that check the payloads of a type.
    package init(_ routes: UploadRoutes, registry: @escaping @Sendable (String) throws -> OperationRegistry) {
        self.routes = routes
        self.registry = registry
    }

    package func shardByte(for facts: UploadFacts, length: Int64?) throws(UploadError) -> UInt8? {
        guard let route = try route(of: facts), facts.concatenation != .partial else {
            // A part becomes nothing by itself; the site is asked about the final upload too.
            guard facts.uniqueKey == nil || facts.concatenation == .partial else {
                throw UploadError(
                    .invalid, "A unique key is of a command, which an upload without a route does not become.")
            }
            return nil
        }
        try route.check(facts, id: CommandID(), length: length)
        return try route.shardKey(facts).map { CommandID.shardByte(ofKey: $0) }
    }

    package func uniqueKey(for facts: UploadFacts) throws(UploadError) -> UniqueKey? {
        guard facts.concatenation != .partial else { return nil }
        return try route(of: facts)?.unique(facts)
    }

    package func maxSize(for facts: UploadFacts) -> Int64? { facts.route.flatMap { routes.route($0) }?.maxSize }

    package func needsDigest(_ facts: UploadFacts) -> Bool {
        guard let route = facts.route.flatMap({ routes.route($0) }) else { return false }
        return route.needsDigest || facts.uniqueKey != nil
    }

    package func submission(
        for upload: Upload, file: String, sha256: [UInt8]?
    ) throws(UploadError) -> UploadSubmission? {
        guard let route = try route(of: upload.facts) else { return nil }
        switch try route.result(of: RouteFacts(upload, file: file, sha256: sha256), registry: registry) {
        case .stored: return nil
        case .command(let draft): return .command(draft)
        case .flow(let plan): return .flow(plan)
        }
    }

    package func retention(for facts: UploadFacts) -> Duration {
        facts.route.flatMap { routes.route($0) }?.retention ?? .zero
    }

    private func route(of facts: UploadFacts) throws(UploadError) -> UploadRoute? {
        guard let name = facts.route else { return nil }
        guard let route = routes.route(name) else {
            throw UploadError(
                .invalid,
                "The route “\(name.excerpt)” is not in sluice.yaml; put it back, or begin an upload with another one.")
        }
        return route
    }
}
