internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Queue

extension API {
    var limitEndpoints: [Endpoint] {
        [
            endpoint("/limits", (.get, [.read], listLimits)),
            endpoint(
                "/limits/{name}", (.get, [.read], showLimit), (.put, [.control], putLimit),
                (.delete, [.control], removeLimit)),
        ]
    }

    @Sendable private func listLimits(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let limits = try await read { queue in try queue.rateLimits() }
        return JSONReply.response(["limits": .array(limits.map { .object($0.members) })])
    }

    @Sendable private func showLimit(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        guard let details = try await read({ queue in try queue.limitDetails(of: name) }) else {
            throw Self.noLimit(name)
        }
        return JSONReply.response(details.json)
    }

    /// Makes a limit, or replaces the whole of one.
    @Sendable private func putLimit(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        guard RateLimit.isName(name) else {
            throw JSONBody.problem("“\(name.excerpt)” is not the name of a rate limit: \(RateLimit.nameForm).")
        }
        let body = try await JSONBody.members(request, ["starts", "burst", "atOnce"])
        guard let starts = body["starts"]?.string.flatMap({ StartRate(text: $0) }) else {
            throw JSONBody.problem("“starts” must be \(StartRate.forms).")
        }
        var limit = RateLimit(starts: starts)
        limit.burst = try Self.count("burst", in: body, 1...StartRate.maxBurst)
        limit.atOnce = try Self.count("atOnce", in: body, 1...RateLimit.maxAtOnce)
        let change = RateLimitChange(to: limit)
        let (isNew, stored) = try await write { [limit] queue in
            let isNew = try queue.limits()[name] == nil
            return (isNew, try queue.changeRateLimit(name, change) ?? limit)
        }
        log("Set the rate limit \(name): \(LimitText.sentence(stored))", request)
        return JSONReply.response(.object(LimitText.members(name, stored)), status: isNew ? .created : .ok)
    }

    /// Commands that name it wait until one of that name is set again.
    @Sendable private func removeLimit(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        guard let removed = try await write({ queue in try queue.removeRateLimit(name) }) else {
            throw Self.noLimit(name)
        }
        log("Removed the rate limit \(name)", request)
        return JSONReply.response([
            "name": .string(name), "waiting": .integer(Int64(removed.waiting)),
            "schedules": .array(removed.schedules.map { .string($0) }),
        ])
    }

    private static func noLimit(_ name: String) -> Problem {
        Problem(.notFound, "limit-not-found", "There is no rate limit “\(name.excerpt)”; see /limits.")
    }

    /// Nil where the member is missing or null.
    private static func count(
        _ name: String, in body: JSONValue, _ range: ClosedRange<Int>
    ) throws(Problem) -> Int? {
        guard let value = body[name], value != .null else { return nil }
        guard let count = value.integer, range.contains(Int(clamping: count)) else {
            throw JSONBody.problem("“\(name)” must be from \(range.lowerBound) to \(range.upperBound), or null.")
        }
        return Int(count)
    }
}
