internal import Commands
internal import Console
internal import Door
internal import HTTPTypes
internal import Host
internal import Queue

extension API {
    var scheduleEndpoints: [Endpoint] {
        [
            endpoint("/schedules", (.get, [.read], listSchedules)),
            endpoint(
                "/schedules/{name}", (.get, [.read], showSchedule), (.put, [.control], putSchedule),
                (.delete, [.control], removeSchedule)),
            endpoint("/schedules/{name}/pause", (.post, [.control], pauseSchedule)),
            endpoint("/schedules/{name}/resume", (.post, [.control], resumeSchedule)),
            endpoint("/schedules/{name}/trigger", (.post, [.control], triggerSchedule)),
        ]
    }

    // MARK: Reading

    @Sendable private func listSchedules(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let schedules = try await read { queue in try queue.schedules() }
        return JSONReply.response(["schedules": .array(schedules.map { .object(Self.members(of: $0)) })])
    }

    @Sendable private func showSchedule(_ request: DoorRequest) async throws -> Response {
        let count = try QueryReader(request, ["times"]).integer("times", in: 0...1000) ?? 10
        let schedule = try await schedule(request.parameters["name"] ?? "")
        let times: [UpcomingTime]
        do throws(TimeZoneError) {
            times = try ScheduleTiming(schedule.definition, in: .system).upcoming(count, after: client.now)
        } catch {
            // The schedule is held, and its reason says that the zone is missing.
            times = []
        }
        return JSONReply.response(
            .object(Self.members(of: schedule) + [.init("times", .array(times.map(\.json)))]))
    }

    /// - Throws: 404 where there is none of that name.
    func schedule(_ name: String) async throws(Problem) -> StoredSchedule {
        guard let schedule = try await read({ queue in try queue.schedule(name) }) else {
            throw Problem(.notFound, "schedule-not-found", "There is no schedule “\(name.excerpt)”; see /schedules.")
        }
        return schedule
    }

    /// Without the secrets of payloads.
    static func members(of schedule: StoredSchedule) -> [JSONValue.Member] {
        ScheduleText.members(of: schedule).map { .init($0.name, withoutSecrets($0.value)) }
    }

    private static func withoutSecrets(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(
                members.map { member in
                    let isPayload = member.name == "payload"
                    return .init(
                        member.name,
                        isPayload ? HTTPHeaderRedaction.shown(member.value) : withoutSecrets(member.value))
                })
        case .array(let values): .array(values.map(withoutSecrets))
        default: value
        }
    }

    // MARK: Changes

    private static let maxSchedule = 16 << 20

    /// Makes a schedule, or replaces one. Its commands are checked as those of a submit of the same token, which needs the scope
    /// submit too.
    @Sendable private func putSchedule(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        let policy = try policy(request)
        guard policy.principal.scopes.contains(.submit) else {
            throw Problem(
                .forbidden, "scope-missing", "The token lacks the scope submit: a schedule submits commands.",
                members: [.init("scopes", ["submit"])])
        }
        let bytes = try await JSONBody.bytes(request, types: ["application/json"], limit: Self.maxSchedule)
        let put: SchedulePut
        do { put = try SchedulePut(JSONValue(parsing: bytes), name: name) } catch {
            throw JSONBody.problem("\(error)".sentence)
        }
        let builder = ScheduleBuilder(
            admit: { type, payload, isTemplate in
                try policy.admit(type: type, payload: payload, isTemplate: isTemplate)
            },
            registry: { type in try await BlockingPool.shared.run { try self.registry(for: type) } })
        let action: ScheduleAction
        do { action = try await builder.action(of: put.definition) } catch let error as ScheduleBuildError {
            throw error.cause as? Problem ?? problem(error)
        }
        for draft in action.drafts { try policy.check(draft) }
        let (change, stored) = try await write { queue in
            try queue.refuseUnknown(action, of: name, allowUnknownTypes: false)
            return (try queue.putSchedule(put, action, isConfigured: false), try queue.schedule(name))
        }
        guard let stored else { throw Problem.storeUnavailable }
        log("Put the schedule \(name): \(change.rawValue)", request)
        return JSONReply.response(.object(Self.members(of: stored)), status: change == .created ? .created : .ok)
    }

    /// The commands that it has submitted stay.
    @Sendable private func removeSchedule(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        let name = request.parameters["name"] ?? ""
        _ = try await schedule(name)
        _ = try await write { queue in try queue.removeSchedule(name) }
        log("Removed the schedule \(name)", request)
        return Response(status: .noContent)
    }

    @Sendable private func pauseSchedule(_ request: DoorRequest) async throws -> Response {
        try await changeSchedule(request) { queue, name in try queue.pauseSchedule(name) }
    }

    @Sendable private func resumeSchedule(_ request: DoorRequest) async throws -> Response {
        try await changeSchedule(request) { queue, name in try queue.resumeSchedule(name) }
    }

    private func changeSchedule(
        _ request: DoorRequest,
        _ body: @escaping @Sendable (QueueAccess, String) throws -> StoredSchedule?
    ) async throws -> Response {
        _ = try QueryReader(request, [])
        _ = try await JSONBody.members(request, [])
        let name = request.parameters["name"] ?? ""
        _ = try await schedule(name)
        let changed = try await change {
            try await client.write { queue in try body(queue, name) }
        }
        guard let changed else { throw try await missing(schedule: name) }
        log("\(changed.state.paused ? "Paused" : "Resumed") the schedule \(name)", request)
        return JSONReply.response(.object(Self.members(of: changed)))
    }

    private func missing(schedule name: String) async throws -> Problem {
        do { _ = try await schedule(name) } catch { return error }
        return .storeUnavailable
    }

    @Sendable private func triggerSchedule(_ request: DoorRequest) async throws -> Response {
        _ = try QueryReader(request, [])
        _ = try await JSONBody.members(request, [])
        let name = request.parameters["name"] ?? ""
        _ = try await schedule(name)
        let ids = try await change { try await client.trigger(schedule: name) }
        log("Triggered the schedule \(name)", request)
        return JSONReply.response(["ids": .array(ids.map { .string($0.description) })], status: .created)
    }
}
