import Commands
import Foundation

/// The time zones that tzdata has on this machine.
enum MachineZones {
    static let all: [TimeZoneOffsets] = names.compactMap { try? TimeZoneDatabase.system.zone(named: $0) }
    static let isInstalled = !all.isEmpty

    static let names: [String] =
        (FileManager.default.subpaths(atPath: TimeZoneDatabase.system.directory) ?? [])
        .filter { !$0.hasPrefix("right/") && !$0.hasPrefix("posix/") && $0 != "localtime" && $0 != "posixrules" }
        .sorted()
}
