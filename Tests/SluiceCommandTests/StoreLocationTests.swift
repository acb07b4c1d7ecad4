import ArgumentParser
import Glibc
import Testing

@testable import SluiceCommand

@Suite struct StoreLocationTests {
    private static let sentence =
        "a data directory is a path, not a URL; give the URL of a store by --store or SLUICE_STORE"

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
        // Those take the URL of a store as their argument.
        let others = [["bench"], ["store", "create"], ["store", "grants"], ["store", "copy"]]
        let leaves = Self.leaves().filter { !others.contains($0) }
        #expect(leaves.count > 60)
        for leaf in leaves {
            let error = try #require(throws: (any Error).self, "\(leaf)") {
                try SluiceTool.parseAsRoot(leaf + ["--data", url])
            }
            #expect(SluiceTool.message(for: error) == Self.sentence, "\(leaf)")
            #expect(SluiceTool.exitCode(for: error).rawValue == 64, "\(leaf)")
        }
    }

    /// The option, and the sentence that refuses it.
    static let refusedStores = [
        ("", "--store must not be empty."),
        ("/var/lib/sluice", "a store is a URL that begins with postgres://; a data directory is given by --data"),
        ("postgres://app:geheim@db/queue", "list of processes; leave it to ~/.pgpass or PGPASSWORD."),
        ("postgres://db/queue?password=geheim", "list of processes; leave it to ~/.pgpass or PGPASSWORD."),
        ("postgres://db/queue?schema=Jobs", "“Jobs” is not the name of a schema"),
        ("postgres://a@b@c/queue", "it has more than one “@”"),
    ]

    @Test(arguments: refusedStores)
    func `a store that is not a URL, or has a password, is refused`(_ store: String, _ reason: String) throws {
        for command in [["status", "--store", store], ["store", "create", store]] {
            let error = try #require(throws: (any Error).self) { try SluiceTool.parseAsRoot(command) }
            let message = SluiceTool.message(for: error)
            #expect(SluiceTool.exitCode(for: error).rawValue == 64)
            #expect(message.contains(command[0] == "store" ? reason.replacing("--store", with: "The URL") : reason))
            #expect(!message.contains("geheim"))
        }
    }

    @Test(arguments: refusedStores.dropFirst(2))
    func `a store that is copied is refused by its name`(_ store: String, _ reason: String) throws {
        for (name, stores) in [("FROM", [store, "/data"]), ("TO", ["/data", store])] {
            let error = try #require(throws: (any Error).self) {
                try SluiceTool.parseAsRoot(["store", "copy"] + stores)
            }
            let message = SluiceTool.message(for: error)
            #expect(SluiceTool.exitCode(for: error).rawValue == 64)
            #expect(message.contains(reason.replacing("--store", with: name)) && !message.contains("geheim"))
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
