internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import NetworkControl
internal import Queue

extension API {
    var systemEndpoints: [Endpoint] {
        [
            endpoint("/counts", (.get, [.read], showCounts)),
            endpoint("/workers", (.get, [.read], listWorkers)),
            endpoint("/links", (.get, [.read], listLinks)),
            endpoint("/links/{destination}", (.get, [.read], showLink), (.patch, [.control], changeLink)),
            endpoint("/pauses", (.get, [.read], listPauses)),
            endpoint("/routes", (.get, [.read, .upload], listRoutes)),
            endpoint("/me", (.get, Set(Scope.allCases), showPrincipal)),
        ]
    }

    @Sendable private func showCounts(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let counts = try await read { queue in try queue.counts() }
        let byQuality = QualityOfService.allCases.map { qos in
            let cells = CommandStatus.allCases.map {
                JSONValue.Member($0.name, .integer(Int64(counts[$0, qos])))
            }
            return JSONValue.Member(qos.name, .object(cells))
        }
        return JSONReply.response([
            "counts": .object(CommandStatus.allCases.map { .init($0.name, .integer(Int64(counts[$0]))) }),
            "byQos": .object(byQuality),
        ])
    }

    @Sendable private func listWorkers(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let workers = try await read { queue in try queue.workers() }
        return JSONReply.response(["workers": .array(workers.map(\.json))])
    }

    @Sendable private func listLinks(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(["links": .array(try await links().map(\.json))])
    }

    @Sendable private func showLink(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let destination = try LinkPath.destination(request)
        let all = try await links()
        let links = all.filter { $0.destination == destination.text }
        guard !links.isEmpty else { throw LinkPath.notFound(destination, known: all.map(\.destination)) }
        return JSONReply.response(["links": .array(links.map(\.json))])
    }

    @Sendable private func listPauses(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        return JSONReply.response(["pauses": try await pauses()])
    }

    func pauses() async throws(Problem) -> JSONValue {
        let list = try await read { queue in try queue.pauses().map(\.json) }
        return .array(list)
    }

    /// The routes that the token may use.
    @Sendable private func listRoutes(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let routes = door.routes.names(for: request.principal).compactMap { door.routes.route($0) }
        return JSONReply.response(["routes": .array(routes.map { .object($0.members) })])
    }

    @Sendable private func showPrincipal(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        guard let principal = request.principal else { throw Problem.failed }
        func list(_ texts: [String]?) -> JSONValue { texts.map { .array($0.sorted().map { .string($0) }) } ?? .null }
        return JSONReply.response([
            "token": .string(principal.token), "name": .string(principal.name),
            "scopes": list(principal.scopes.map(\.rawValue)), "routes": list(principal.routes.map(Array.init)),
            "types": list(principal.types.map(Array.init)),
            "destinations": list(principal.destinations?.map(\.text)), "session": .bool(principal.isSession),
        ])
    }
}

/// The last part of the path of a link: its origin, as `https:media.example.com:443`, or percent-encoded as a whole, as
/// `https%3A%2F%2Fmedia.example.com`.
enum LinkPath {
    /// - Throws: 404 for anything else.
    static func destination(_ request: DoorRequest) throws(Problem) -> Destination {
        let text = request.parameters["destination"] ?? ""
        if let destination = Destination(origin: text) { return destination }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, !text.contains("//") {
            let origin = "\(parts[0])://\(parts[1])"
            if let destination = Destination(origin: origin) { return destination }
            if origin == Destination.file.text { return .file }
        }
        throw Problem(
            .notFound, "link-not-found",
            "“\(text.excerpt)” is not the origin of a link; write it as https:media.example.com:443.")
    }

    private static let maxNamed = 10

    /// No link has the destination.
    /// - Parameter known: the destinations of all links.
    static func notFound(_ destination: Destination, known: some Sequence<String>) -> Problem {
        let names = Set(known).sorted()
        var words = "there are none yet"
        if !names.isEmpty {
            words = "there are links to \(names.prefix(maxNamed).map(\.excerpt).joined(separator: ", "))"
            if names.count > maxNamed { words += " and \(names.count - maxNamed) others" }
        }
        return Problem(
            .notFound, "link-not-found",
            "Nothing was sent to \(destination) yet, and it has no settings; \(words). See /links.")
    }
}
