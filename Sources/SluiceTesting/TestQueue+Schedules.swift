public import Commands
internal import Store

extension TestQueue {
    /// Stores a schedule that submits a command at given times of the queue's clock. A time that has come submits when the
    /// clock is moved; what was missed meanwhile is submitted once.
    /// - Parameters:
    ///   - name: 1 to 64 of A-Z, a-z, 0-9, “.”, “_” and “-”. A second schedule of this name replaces the first.
    ///   - cron: five fields, six with seconds first, a macro such as `@daily`, or `@every 10m`.
    ///   - zone: an IANA name. The default is `UTC`.
    ///   - draft: the command, as ``Sluice/SluiceClient/draft(_:payload:options:)`` makes it.
    /// - Throws: ``Sluice/SluiceError`` `invalid` for a malformed name or expression, and for an unknown zone.
    public func schedule(
        _ name: String, cron: String, zone: String = "UTC", _ draft: CommandDraft
    ) throws(SluiceError) {
        let command = JSONValue.object([.init("type", .string(draft.type))])
        try schedule(name, cron, zone, .command(command), .command(ScheduledDraft(draft)))
    }

    /// As ``schedule(_:cron:zone:_:)-(_,_,_,CommandDraft)``, for a flow. Its keys and its deadline are not kept: the schedule
    /// sets them.
    public func schedule(
        _ name: String, cron: String, zone: String = "UTC", _ flow: FlowDraft
    ) throws(SluiceError) {
        do throws(FlowError) { _ = try FlowPlan(flow) } catch { throw SluiceError(error) }
        var scheduled = ScheduledFlow(
            name: flow.name,
            nodes: flow.nodes.map {
                .init(name: $0.name, draft: ScheduledDraft($0.draft), after: $0.after, mayFail: $0.mayFail)
            })
        scheduled.callbacks = flow.callbacks.map { .init(condition: $0.condition, draft: ScheduledDraft($0.draft)) }
        scheduled.stopsOnFailure = flow.stopsOnFailure
        scheduled.qos = flow.qos
        try schedule(name, cron, zone, .flow(.object([.init("name", .string(flow.name))])), .flow(scheduled))
    }

    private func schedule(
        _ name: String, _ cron: String, _ zone: String, _ body: ScheduleBody, _ action: ScheduleAction
    ) throws(SluiceError) {
        let expression: CronExpression
        do throws(CronExpressionError) { expression = try CronExpression(parsing: cron) } catch {
            throw SluiceError(.invalid, "schedule “\(name)”: \(error)")
        }
        let definition: ScheduleDefinition
        do throws(ScheduleError) {
            definition = try ScheduleDefinition(name: name, expression: expression, zone: zone, body: body)
        } catch {
            throw SluiceError(.invalid, "\(error)")
        }
        do throws(TimeZoneError) { _ = try TimeZoneDatabase.system.zone(named: zone) } catch {
            throw SluiceError(.invalid, "schedule “\(name)”: \(error)")
        }
        try stored { () throws(StoreError) in
            // Its times and its last command go with an earlier one of this name.
            _ = try queue.removeSchedule(name)
            _ = try queue.putSchedule(SchedulePut(definition), action, isConfigured: false)
        }
    }
}
