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
        do throws(SourceError) { return try YAMLText.parse(bytes).value } catch {
            throw ExitError(.data, "\(path): \(error)")
        }
    }

    /// The schedules of a file: a mapping “schedules” of names, and the zone of those that name none.
    static func schedules(_ path: String) throws -> [SchedulePut] {
        let value = try value(FlowFile.bytes(path), path)
        guard let members = value.members else {
            throw ExitError(.data, "\(path): it must be a mapping with “schedules”, not \(value.kind)")
        }
        // With --prune a file without it would remove every schedule.
        guard value["schedules"] != nil else {
            throw ExitError(
                .data, "\(path): “schedules” is missing, a mapping of names; it may be empty: schedules: {}")
        }
        var zone = "UTC"
        var puts: [SchedulePut] = []
        for member in members where member.name == "zone" {
            guard let name = member.value.string else { throw ExitError(.data, "\(path): “zone” must be a string") }
            zone = name
        }
        for member in members where member.name != "zone" {
            guard member.name == "schedules", let schedules = member.value.members else {
                throw ExitError(
                    .data,
                    "\(path): unknown key “\(member.name)”: a file has “zone” and “schedules”, a mapping of names")
            }
            for schedule in schedules {
                do throws(ScheduleError) {
                    puts.append(try SchedulePut(schedule.value, name: schedule.name, defaultZone: zone))
                } catch {
                    throw ExitError(.data, "\(path): \(error)")
                }
            }
        }
        return puts
    }
}
