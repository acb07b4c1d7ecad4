internal import Commands
internal import Console
internal import Glibc
internal import Host
internal import Membership
internal import Queue
internal import Store

/// The conditions of a figure: machine, kernel, file system, versions, durability, date.
struct BenchEnvironment {
    let members: [JSONValue.Member]

    /// - Parameter workspace: the directory of the bench, in which a store is made to read its pragmas.
    init(_ workspace: BenchWorkspace) throws {
        let path = workspace.path
        var name = utsname()
        uname(&name)
        let kernel = withUnsafeBytes(of: &name.release) { Self.text($0) }
        let machine = withUnsafeBytes(of: &name.machine) { Self.text($0) }
        let libraries = Libraries.current
        members = [
            .init("date", .string(Timestamp.now.description)),
            .init("machine", .string("\(Self.processor), \(sysconf(CInt(_SC_NPROCESSORS_ONLN))) cores, \(machine)")),
            .init(
                "memory",
                .string(Figures.bytes(Int64(sysconf(CInt(_SC_PHYS_PAGES))) * Int64(sysconf(CInt(_SC_PAGESIZE)))))),
            .init("kernel", .string(kernel)),
            .init("fileSystem", .string(Self.fileSystem(of: path))),
            .init("sluice", .string(SluiceVersion.current)),
            .init("sqlite", .string(libraries.sqlite)),
            .init("zeromq", .string(libraries.zeromq)),
            .init("swift", .string(libraries.swift)),
            .init("build", .string(Self.build)),
            .init("durability", .string(try Self.durability(in: workspace))),
        ]
    }

    var lines: [String] {
        members.map { TerminalText.fit($0.name, width: 12) + ($0.value.string ?? $0.value.text) } + [""]
    }

    /// The pragmas of a writing connection.
    private static func durability(in workspace: BenchWorkspace) throws -> String {
        let opened = try workspace.newStore()
        defer { workspace.clear(opened.directory.path) }
        return try opened.health.durability()
    }

    private static var build: String {
        #if DEBUG
            "debug: figures of a release build are better"
        #else
            "release"
        #endif
    }

    private static var processor: String {
        let text = SmallFile.read("/proc/cpuinfo") ?? ""
        for line in text.split(separator: "\n") where line.hasPrefix("model name") {
            return line.split(separator: ":", maxSplits: 1).last.map { String($0.drop { $0 == " " }) } ?? "unknown"
        }
        return "unknown"
    }

    /// The type of the file system that holds `path`: the mount with the longest prefix.
    private static func fileSystem(of path: String) -> String {
        var best = (length: -1, text: "unknown")
        for line in (SmallFile.read("/proc/mounts") ?? "").split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 2 else { continue }
            let point = String(fields[1])
            let isPrefix = point == "/" || "\(path)/".beginsWithBytes(of: point + "/")
            if isPrefix, point.utf8.count > best.length { best = (point.utf8.count, "\(fields[2]) on \(point)") }
        }
        return best.text
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}
