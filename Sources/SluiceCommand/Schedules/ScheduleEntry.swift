internal import Commands
internal import FlowText

/// A schedule of a file, and where it stands.
struct ScheduleEntry {
    var put: SchedulePut
    /// The file and the line, for errors: `schedules.yaml:4`.
    var place: String

    var name: String { put.definition.name }

    /// The schedules of a mapping of names.
    /// - Parameters:
    ///   - member: of the file: `schedules`.
    ///   - zone: of those that name none.
    ///   - setting: a name in the mapping that is not a schedule.
    /// - Throws: ``ExitError`` `data` with file and line.
    static func entries(
        of member: LocatedValue.Member, in file: String, zone: String, without setting: String? = nil
    ) throws -> [ScheduleEntry] {
        guard let schedules = member.value.members else {
            throw ExitError(
                .data,
                "\(file):\(member.position.line): “\(member.name)” must be a mapping of names, not "
                    + member.value.value.kind)
        }
        return try schedules.filter { $0.name != setting }.map { schedule in
            do throws(ScheduleError) {
                let put = try SchedulePut(schedule.value.value, name: schedule.name, defaultZone: zone)
                return ScheduleEntry(put: put, place: "\(file):\(schedule.position.line)")
            } catch {
                let key = schedule.value.members?.first { $0.name == error.key }
                throw ExitError(.data, "\(file):\((key ?? schedule).position.line): \(error)")
            }
        }
    }

    /// The error of this schedule, with its place.
    func placed(_ error: any Error) -> ExitError {
        let exitError = ExitError(error)
        return ExitError(exitError.code, "\(place): \(exitError.message ?? "it cannot be used")")
    }
}
