internal import Commands
internal import Door
internal import HTTPTypes
internal import NetworkControl
internal import Queue

extension API {
    var settingEndpoints: [Endpoint] {
        [
            endpoint("/pause", (.post, [.control], pause)),
            endpoint("/resume", (.post, [.control], resume)),
        ]
    }

    // MARK: Pauses

    @Sendable private func pause(_ request: DoorRequest) async throws -> Response {
        let (qos, destination, isAll) = try await scope(request, allowsNull: false)
        guard isAll || qos != nil || destination != nil else {
            throw Problem(
                .badRequest, "empty-filter", "The body admits every command; name what to pause, or send “all”: true.")
        }
        try await change { try await client.pause(qos: qos, destination: destination) }
        log("Paused \(Self.words(qos, destination))", request)
        return JSONReply.response(["pauses": try await pauses()])
    }

    /// Lifts the pause that was made with the same members, without members that of everything; with `all` every pause.
    @Sendable private func resume(_ request: DoorRequest) async throws -> Response {
        // A pause of the list, where null is a part of it, can be sent back.
        let (qos, destination, isAll) = try await scope(request, allowsNull: true)
        if isAll {
            try await change { try await client.resumeAll() }
        } else {
            _ = try await change { try await client.resume(qos: qos, destination: destination) }
        }
        log("Resumed \(Self.words(qos, destination))", request)
        return JSONReply.response(["pauses": try await pauses()])
    }

    private static func words(_ qos: QualityOfService?, _ destination: Destination?) -> String {
        if qos == nil, destination == nil { return "everything" }
        return [qos.map { "the quality of service \($0)" }, destination.map { "the destination \($0)" }]
            .compactMap(\.self).joined(separator: " at ")
    }

    private func scope(
        _ request: DoorRequest, allowsNull: Bool
    ) async throws -> (qos: QualityOfService?, destination: Destination?, isAll: Bool) {
        _ = try QueryReader(request, [])
        let body = try await JSONBody.members(request, ["qos", "destination", "all"])
        func isGiven(_ name: String) -> Bool { body[name] != nil && !(allowsNull && body[name] == .null) }
        let qos = isGiven("qos") ? try VerbReader.quality(body) : nil
        var destination: Destination?
        if let value = body["destination"], isGiven("destination") {
            guard let named = value.string.flatMap({ Destination($0) }) else {
                throw JSONBody.problem("“destination” must be an origin such as https://media.example.com.")
            }
            destination = named
        }
        guard let isAll = (body["all"] ?? false).bool else { throw JSONBody.problem("“all” must be true or false.") }
        guard !isAll || qos == nil && destination == nil else {
            throw JSONBody.problem("“all” goes without “qos” and “destination”.")
        }
        return (qos, destination, isAll)
    }

    // MARK: Links

    @Sendable func changeLink(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let destination = try LinkPath.destination(request)
        let body = try await JSONBody.members(request, ["level", "maxRate"])
        var change = LinkOverrideChange()
        switch body["level"] {
        case nil: break
        case .string("offline")?: change.isOffline = true
        case .string("auto")?: change.isOffline = false
        default: throw JSONBody.problem("“level” must be offline (nothing is sent there) or auto.")
        }
        switch body["maxRate"] {
        case nil: break
        case .null?: change.maxRate = .some(nil)
        case .integer(let rate)? where (DestinationLimits.minRate...1_000_000_000_000).contains(rate):
            change.maxRate = .some(rate)
        default:
            throw JSONBody.problem(
                "“maxRate” must be bytes per second, from \(DestinationLimits.minRate) to 1000000000000, or null.")
        }
        guard change != LinkOverrideChange() else {
            throw JSONBody.problem("The body changes nothing; send “level”, “maxRate” or both.")
        }
        let json = try await write { [change] queue in
            let (override, setting) = try queue.changeLink(to: destination, change)
            return override.json(of: destination, setting)
        }
        await linkReadings.invalidate()
        log("Changed the link to \(destination): \(body.text)", request)
        return JSONReply.response(json)
    }
}
