import TestSupport

/// curl, an independent client, against a test server.
enum Curl {
    static var isInstalled: Bool { program("curl") != nil }

    /// - Returns: the heads and bodies of all responses; empty where curl received none.
    static func answers(_ arguments: String...) async throws -> String { try await run(arguments).output }

    /// - Returns: the exit status of curl; see EXIT CODES in curl(1).
    static func ending(_ arguments: String...) async throws -> ChildProcess.Exit { try await run(arguments).ending }

    private static func run(_ arguments: [String]) async throws -> (output: String, ending: ChildProcess.Exit) {
        guard let curl = program("curl") else { throw Missed("curl is not installed") }
        let directory = try TemporaryDirectory("curl")
        defer { directory.remove() }
        let child = try ChildProcess(
            [curl, "-si", "--raw", "-m", "20"] + arguments, log: "\(directory.path)/curl")
        let ending = try await child.end(within: .seconds(30))
        return (child.output, ending)
    }
}
