internal import ArgumentParser
internal import Commands
internal import Queue

struct ScheduleApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Make the schedules of a file: create, change, and with --prune remove the others.",
        discussion: """
            The file is YAML or JSON:

              zone: Europe/Berlin
              schedules:
                nightly: {cron: "30 2 * * *", command: {type: request, payload: {url: https://api.example.com/report, method: POST}}}
                quotes:  {cron: "@every 10m", overlap: queue, flow: {nodes: {sync: {type: sync, payload: {…}}}}}

            A schedule has “cron”, a “command” or a “flow”, and may have “zone”, “missed”, “overlap”, “jitter”, “grace” and \
            “paused”. Nothing is changed where one of them cannot be used. An apply of the same file changes nothing.

            Schedules may also stand in sluice.yaml, which the coordinator applies (see “sluice schedule --help”). --prune \
            leaves those alone.

            EXAMPLES
              sluice schedule apply schedules.yaml
              sluice schedule apply schedules.yaml --prune --json
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var print: PrintOptions

    @Argument(
        help: ArgumentHelp("The file; - for standard input.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml", "json"]))
    var file: String

    @Flag(name: .long, help: "Remove the schedules that neither the file nor sluice.yaml has.")
    var prune = false

    @Flag(name: .long, help: "Accept types that no worker has ever been able to run.")
    var allowUnknown = false

    func run() async throws {
        let entries = try ScheduleFile.schedules(file)
        let queue = try data.queue(create: true)
        let check = ScheduleCheck(queue: queue, data: data)
        let prepared = try await check.prepare(entries, allowUnknown: allowUnknown)
        for (put, action) in prepared {
            say(put.definition.name, try queue.putSchedule(put, action, isConfigured: false).rawValue)
            if let remark = put.definition.remark { Diagnostics.say(remark) }
        }
        if prune {
            let kept = Set(entries.map(\.name))
            for schedule in try queue.schedules() where !kept.contains(schedule.name) && !schedule.isConfigured {
                _ = try queue.removeSchedule(schedule.name)
                say(schedule.name, "removed")
            }
        }
        try data.warn(of: queue)
    }

    private func say(_ name: String, _ change: String) {
        if print.json {
            Output.line(
                JSONValue.object([.init("schedule", .string(name)), .init("change", .string(change))]).bytes)
        } else {
            Output.line("\(name) \(change)")
        }
    }
}

/// Checks schedules before they are put.
struct ScheduleCheck {
    let queue: QueueAccess
    private let builder: ScheduleBuilder

    init(queue: QueueAccess, data: DataOptions) {
        self.queue = queue
        builder = ScheduleBuilder(data)
    }

    /// - Throws: ``ExitError`` `data` for a body that its operation refuses, an unknown type, and a zone that this machine
    ///   does not have.
    func prepare(_ put: SchedulePut, allowUnknown: Bool) async throws -> ScheduleAction {
        let definition = put.definition
        let action = try await builder.action(of: definition)
        try queue.refuseUnknown(action, of: definition.name, allowUnknownTypes: allowUnknown)
        return action
    }

    /// Checks all schedules of a file before one of them is stored.
    /// - Throws: as ``prepare(_:allowUnknown:)-(SchedulePut,_)``, with file and line.
    func prepare(
        _ entries: [ScheduleEntry], allowUnknown: Bool
    ) async throws -> [(SchedulePut, ScheduleAction)] {
        var prepared: [(SchedulePut, ScheduleAction)] = []
        for entry in entries {
            let action: ScheduleAction
            do {
                action = try await prepare(entry.put, allowUnknown: allowUnknown)
            } catch {
                throw entry.placed(error)
            }
            prepared.append((entry.put, action))
        }
        return prepared
    }
}
