import ArgumentParser
import Glibc
import Testing

@testable import SluiceCommand

@Suite struct StoreLocationTests {
    private static let sentence = "this sluice keeps its store in a directory only; it has no postgres://"

    /// The names on the way to each subcommand that has none itself.
    private static func leaves(
        of command: any ParsableCommand.Type = SluiceTool.self, _ path: [String] = []
    ) -> [[String]] {
        let subcommands = command.configuration.subcommands
        guard !subcommands.isEmpty else { return [path] }
        return subcommands.flatMap { leaves(of: $0, path + [$0.configuration.commandName ?? "\($0)".lowercased()]) }
    }

    @Test(arguments: ["postgres://host/db", "postgresql://user@host:5432/db"])
    func `each subcommand with a data directory refuses the URL of a database`(_ url: String) throws {
        let leaves = Self.leaves().filter { $0 != ["bench"] }
        #expect(leaves.count > 60)
        for leaf in leaves {
            let error = try #require(throws: (any Error).self, "\(leaf)") {
                try SluiceTool.parseAsRoot(leaf + ["--data", url])
            }
            #expect(SluiceTool.message(for: error) == Self.sentence, "\(leaf)")
            #expect(SluiceTool.exitCode(for: error).rawValue == 64, "\(leaf)")
        }
    }

    @Test(arguments: [["backup"], ["restore"], ["restore", "--adopt"]])
    func `the directory of a backup is not the URL of a database`(_ command: [String]) throws {
        let error = try #require(throws: (any Error).self) {
            try SluiceTool.parseAsRoot(command + ["postgres://host/db"])
        }
        #expect(SluiceTool.message(for: error) == Self.sentence)
        #expect(SluiceTool.exitCode(for: error).rawValue == 64)
    }

    @Test(arguments: ["postgres://host/db", "postgresql://host/db"])
    func `the variable for the data directory is refused like the option`(_ url: String) async {
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        let result = await CommandLineRun.run(["status"], variables: ["SLUICE_DATA": url], input: input)
        #expect(result.code == 64 && result.output.isEmpty)
        #expect(String(decoding: result.errors, as: UTF8.self).hasPrefix("sluice: \(Self.sentence)\n"))
    }
}
