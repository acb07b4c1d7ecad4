public import Commands
internal import Host
internal import Store

/// A schedule: when it fires, and what became of its times.
public struct ScheduleSummary: Sendable, Equatable {
    public var name: String
    /// The cron expression.
    public var expression: String
    /// The IANA name of its zone.
    public var zone: String
    /// When it fires next; nil while it is paused, and where ``reason`` says why it does not fire.
    public var next: Timestamp?
    /// The last time that fired; nil before the first.
    public var last: Timestamp?
    /// The command or flow of that time.
    public var lastID: CommandID?
    /// Times that fired.
    public var fired: Int
    /// Times that were missed, or skipped because the command before had not ended.
    public var skipped: Int
    public var isPaused: Bool
    /// `sluice.yaml` has written its text last.
    public var isConfigured: Bool
    /// Why it has no next time, in a sentence; nil while nothing holds it.
    public var reason: String?

    init(_ stored: StoredSchedule) {
        name = stored.name
        expression = stored.definition.expression.description
        zone = stored.definition.zone
        next = stored.state.next
        last = stored.state.last
        lastID = stored.state.lastID
        fired = Int(clamping: stored.state.fired)
        skipped = Int(clamping: stored.state.skipped)
        isPaused = stored.state.paused
        isConfigured = stored.isConfigured
        reason = stored.state.reason
    }
}

extension SluiceClient {
    /// The schedules, by name.
    /// - Throws: ``SluiceError``.
    public func schedules() async throws -> [ScheduleSummary] {
        try await read { queue in try queue.schedules().map(ScheduleSummary.init) }
    }

    /// Makes a schedule, or replaces one. The same text again changes nothing, and new or changed times never fire for the
    /// past.
    ///
    /// ```swift
    /// try await client.putSchedule(
    ///     "nightly", ["cron": "30 2 * * *", "zone": "Europe/Berlin", "command": ["type": "report", "payload": [:]]])
    /// ```
    /// - Parameters:
    ///   - name: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”.
    ///   - definition: the object of a file of schedules: `cron`, `command` or `flow`, and `zone`, `missed`, `overlap`,
    ///     `jitter`, `grace`, `paused`.
    ///   - allowUnknownTypes: accept types that no worker has ever been able to run. The default is false.
    /// - Throws: ``SluiceError``: `invalid` for a definition, an unknown type or a limit that does not exist.
    @discardableResult
    public func putSchedule(
        _ name: String, _ definition: JSONValue, allowUnknownTypes: Bool = false
    ) async throws -> ScheduleSummary {
        let put: SchedulePut
        do throws(ScheduleError) { put = try SchedulePut(definition, name: name) } catch {
            throw SluiceError(.invalid, error.description)
        }
        let builder = ScheduleBuilder { [self] type in
            try await read { [registry] queue in queue.rules(for: type, in: registry) }
        }
        let action: ScheduleAction
        do { action = try await builder.action(of: put.definition) } catch { throw SluiceError(error) }
        return try await write { queue in
            try queue.refuseUnknown(action, of: name, allowUnknownTypes: allowUnknownTypes)
            _ = try queue.putSchedule(put, action, isConfigured: false)
            guard let stored = try queue.schedule(name) else { throw Self.noSchedule(name) }
            return ScheduleSummary(stored)
        }
    }

    /// Lets a schedule fire no more, until it is resumed.
    /// - Throws: ``SluiceError``: `invalid` where there is none of that name.
    public func pauseSchedule(_ name: String) async throws {
        try await write { queue in
            if try queue.pauseSchedule(name) == nil { throw Self.noSchedule(name) }
        }
    }

    /// Lets a paused schedule fire again. Times of the pause are not missed.
    /// - Throws: ``SluiceError``: `invalid` where there is none of that name.
    public func resumeSchedule(_ name: String) async throws {
        try await write { queue in
            if try queue.resumeSchedule(name) == nil { throw Self.noSchedule(name) }
        }
    }

    /// Removes a schedule. The commands that it has submitted stay.
    /// - Returns: false where there was none.
    @discardableResult
    public func removeSchedule(_ name: String) async throws -> Bool {
        try await write { queue in try queue.removeSchedule(name) }
    }

    /// Submits what a schedule submits now, whatever its times.
    /// - Returns: the ids of its commands; empty where there is no schedule of that name.
    /// - Throws: ``SluiceError``: `invalid` with the sentence of the schedule where it cannot be submitted.
    public func trigger(schedule name: String) async throws -> [CommandID] {
        let (ids, problem) = try await write { access in try access.triggerSchedule(name) }
        if let problem { throw SluiceError(.invalid, problem) }
        return ids
    }

    private static func noSchedule(_ name: String) -> SluiceError {
        SluiceError(.invalid, "there is no schedule “\(name)”")
    }

    /// The rate limits, by name.
    /// - Throws: ``SluiceError``.
    public func limits() async throws -> [String: RateLimit] {
        try await read { queue in try queue.store.rateLimits() }
    }

    /// Makes a rate limit, or changes it. It acts at once, survives restarts, and needs no running coordinator. A new one
    /// begins without tokens.
    /// - Parameters:
    ///   - name: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”, as in ``SubmitOptions/limit``.
    ///   - limit: replaces the whole of the former one.
    /// - Throws: ``SluiceError`` with the code `usage` for another name, a burst or a number at once out of its range.
    public func setLimit(_ name: String, to limit: RateLimit) async throws {
        guard RateLimit.isName(name) else {
            throw SluiceError(.usage, "“\(name)” is not the name of a rate limit: \(RateLimit.nameForm)")
        }
        guard (1...StartRate.maxBurst).contains(limit.burst ?? 1) else {
            throw SluiceError(.usage, "the burst of a rate limit is 1 to \(StartRate.maxBurst), or nil")
        }
        guard (1...RateLimit.maxAtOnce).contains(limit.atOnce ?? 1) else {
            throw SluiceError(.usage, "a rate limit lets 1 to \(RateLimit.maxAtOnce) commands run at once, or nil")
        }
        _ = try await write { access in
            try access.changeRateLimit(name, RateLimitChange(to: limit))
        }
    }

    /// Removes a rate limit. Commands that name it wait until one of that name is set again.
    /// - Returns: false where there was none.
    /// - Throws: ``SluiceError``.
    @discardableResult
    public func removeLimit(_ name: String) async throws -> Bool {
        try await write { access in try access.removeRateLimit(name) } != nil
    }
}
