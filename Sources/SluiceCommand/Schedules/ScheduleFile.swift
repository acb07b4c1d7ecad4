internal import Commands
internal import FlowText

/// Reads the files of schedules.
enum ScheduleFile {
    /// A payload: JSON, or a file (`@file`).
    static func payload(_ text: String) throws -> JSONValue {
        let isFile = text.utf8.first == UInt8(ascii: "@")
        let name = isFile ? String(text.dropFirst()) : "the payload"
        let bytes = isFile ? try PayloadFile.read(name) : Array(text.utf8)
        do throws(JSONError) { return try JSONValue(parsing: bytes) } catch {
            throw ExitError(.data, "\(name) is not valid JSON: \(error)")
        }
    }

    /// The document of a flow, as it is.
    static func flow(_ path: String) throws -> JSONValue {
        let bytes = try FlowFile.bytes(path)
        // Mistakes are reported with their lines here; later the document is a part of the schedule.
        do throws(FlowDocumentError) { _ = try FlowDocument(parsing: bytes, file: FlowFile.name(path)) } catch {
            throw ExitError(.data, error.description)
        }
        return try value(bytes, path)
    }

    /// A YAML or JSON text.
    private static func value(_ bytes: [UInt8], _ path: String) throws -> JSONValue {
        try located(bytes, path).value
    }

    /// A YAML or JSON text with positions.
    static func located(_ bytes: [UInt8], _ path: String) throws -> LocatedValue {
        do throws(SourceError) { return try YAMLText.parse(bytes) } catch {
            throw ExitError(.data, error.position.map { "\(path):\($0.line): \(error.problem)" } ?? "\(path): \(error)")
        }
    }

    /// The schedules of a file: a mapping “schedules” of names, and the zone of those that name none.
    static func schedules(_ path: String) throws -> [ScheduleEntry] {
        let value = try located(FlowFile.bytes(path), path)
        guard let members = value.members else {
            throw ExitError(.data, "\(path): it must be a mapping with “schedules”, not \(value.value.kind)")
        }
        // With --prune a file without it would remove every schedule.
        guard let schedules = members.first(where: { $0.name == "schedules" }) else {
            throw ExitError(
                .data, "\(path): “schedules” is missing, a mapping of names; it may be empty: schedules: {}")
        }
        var zone = "UTC"
        for member in members where member.name != "schedules" {
            let place = "\(path):\(member.position.line)"
            guard member.name == "zone" else {
                throw ExitError(
                    .data,
                    "\(place): unknown key “\(member.name)”: a file has “zone” and “schedules”, a mapping of names")
            }
            guard let name = member.value.value.string else {
                throw ExitError(.data, "\(place): “zone” must be a string")
            }
            zone = name
        }
        return try ScheduleEntry.entries(of: schedules, in: path, zone: zone)
    }
}

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
