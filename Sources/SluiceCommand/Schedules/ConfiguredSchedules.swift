internal import Commands
internal import FlowText
internal import Host
internal import Queue

/// The schedules of `sluice.yaml`: the mapping `schedules` of names, in which `zone` may be the zone of those that name
/// none.
struct ConfiguredSchedules {
    let entries: [ScheduleEntry]
    private let data: DataOptions

    /// - Returns: nil where there is no file.
    /// - Throws: ``ExitError`` with file, line and what to do.
    init?(_ data: DataOptions) throws {
        guard let path = try ConfigurationFile.path(data, data.directory()) else { return nil }
        self.data = data
        let key = ConfigurationFile.schedulesKey
        let tree = try ConfigurationFile.tree(path, with: key)
        // Without the section all of them have vanished.
        guard let section = tree?.members?.first(where: { $0.name == key }), section.value.value != .null else {
            entries = []
            return
        }
        var zone = "UTC"
        // A mapping is a schedule of that name.
        let setting = section.value.members?.first { $0.name == "zone" && $0.value.value.members == nil }
        if let setting {
            guard let name = setting.value.value.string else {
                throw ExitError(
                    .data,
                    "\(path):\(setting.position.line): “schedules.zone” is \(setting.value.value.kind) and must be an IANA "
                        + "name, for example Europe/Berlin")
            }
            zone = name
        }
        entries = try ScheduleEntry.entries(of: section, in: path, zone: zone, without: setting == nil ? nil : "zone")
    }

    /// As ``init(_:)``, for a process that starts.
    /// - Throws: ``ExitError`` `configuration` for a section that cannot be used.
    static func configured(_ data: DataOptions) throws -> ConfiguredSchedules? {
        do { return try ConfiguredSchedules(data) } catch let error as ExitError where error.code == .data {
            throw ExitError(.configuration, error.message)
        }
    }

    /// Refuses schedules that no later event makes usable: a key, an expression, a zone or a payload that is wrong. Types that
    /// no worker runs yet, and limits that do not exist yet, are left to ``apply(to:)``, which tries again.
    /// - Throws: ``ExitError`` `configuration` with file and line.
    func refuseWrong() async throws {
        let builder = ScheduleBuilder(data)
        do {
            for entry in entries {
                do { _ = try await builder.action(of: entry.put.definition) } catch { throw entry.placed(error) }
            }
        } catch let error as ExitError where error.code == .data || error.code == .usage {
            throw ExitError(.configuration, error.message)
        } catch let error as ExitError where error.code == .configuration {
            throw error
        } catch {
            // The store is busy, or a file is missing for a moment: ``apply(to:)`` says so.
            return
        }
    }

    /// Checks the schedules as ``apply(to:)`` does, and changes nothing.
    func check(_ queue: QueueAccess) async throws {
        let check = ScheduleCheck(queue: queue, data: data)
        _ = try await check.prepare(entries, allowUnknown: false)
    }

    /// Puts all schedules, or none where one of them cannot be used, and removes those that have vanished.
    /// - Returns: a sentence for each change.
    func apply(to queue: QueueAccess) async throws -> [String] {
        let check = ScheduleCheck(queue: queue, data: data)
        let prepared = try await check.prepare(entries, allowUnknown: false)
        let names = Set(entries.map(\.name))
        return try await BlockingPool.shared.run {
            var changes: [String] = []
            for (put, action) in prepared {
                let change = try queue.putSchedule(put, action, isConfigured: true)
                if change != .unchanged {
                    changes.append("The schedule “\(put.definition.name)” of sluice.yaml was \(change.rawValue).")
                }
            }
            for schedule in try queue.schedules() where schedule.isConfigured && !names.contains(schedule.name) {
                if try queue.removeSchedule(schedule.name, onlyConfigured: true) {
                    changes.append("The schedule “\(schedule.name)” was removed, because sluice.yaml has it no more.")
                }
            }
            return changes
        }
    }
}
